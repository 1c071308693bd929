import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const root = join(import.meta.dirname, "../..");

test("a helper that keeps `test` declares tests of each test file that uses it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "test-functions-"));
  try {
    await writeFile(
      join(folder, "helper.mjs"),
      `import { test } from "@jest/globals";
       export const declare = test;
       export const omit = test.skip;`,
    );
    for (const name of ["a", "b", "c"])
      await writeFile(
        join(folder, `${name}.test.mjs`),
        `import { declare, omit } from "./helper.mjs"; declare("runs", () => {}); omit("waits", () => {});`,
      );
    const config = {
      rootDir: folder,
      runtime: join(root, "test/helpers/jest/nativeRuntime.js"),
      testMatch: ["<rootDir>/*.test.mjs"],
      transform: {},
    };
    // In one process, where the files share the helper.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        join(root, "node_modules/jest/bin/jest.js"),
        ...["--runInBand", "--json", "--config", JSON.stringify(config)],
      ],
      { cwd: folder },
    );
    expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 3, numPendingTests: 3 });
  } finally {
    await rm(folder, { recursive: true });
  }
});
