import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";

const root = path.resolve(import.meta.dirname, "../..");
let folder: string;

// The files that the image copies for its build (Dockerfile), so that a missing one fails here too.
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "office-console-"));
  const dockerfile = await readFile(path.join(root, "Dockerfile"), "utf8");
  const stage = dockerfile.slice(0, dockerfile.indexOf("RUN node dev/buildConsole.ts"));
  const copied = [...stage.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  expect(copied).toContain("admin");
  for (const name of copied)
    await cp(path.join(root, name), path.join(folder, name), {
      recursive: true,
      filter: (source) => source !== path.join(root, "admin/dist"),
    });
  await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const build = async () =>
  (await promisify(execFile)(process.execPath, ["dev/buildConsole.ts"], { cwd: folder })).stdout;
const page = () => stat(path.join(folder, "admin/dist/index.html"));

test("the console is built once, and again only after a change", async () => {
  expect(await build()).toMatch(/^console built in \d+ ms\n$/);
  const first = await page();
  expect(await build()).toBe("");
  expect((await page()).mtimeMs).toBe(first.mtimeMs);
  await appendFile(path.join(folder, "src/text/suggest.ts"), "\n");
  expect(await build()).toContain("console built");
  expect((await page()).mtimeMs).toBeGreaterThan(first.mtimeMs);
});
