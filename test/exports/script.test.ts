import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from "@jest/globals";
import ExcelJS from "exceljs";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { ExportService } from "../helpers/exports/exportService.ts";
import { startExportService } from "../helpers/exports/exportService.ts";

const root = path.join(import.meta.dirname, "../..");
const run = promisify(execFile);
const hasJq = spawnSync("jq", ["--version"]).status === 0;
const count = 503;

let exports: ExportService;
let script: string;
let folder: string;

beforeAll(async () => {
  exports = await startExportService();
  await exports.addProducts(count);
  await exports.startWorker();
  const readme = await readFile(path.join(root, "docs/exports.md"), "utf8");
  const shown = /<!-- export script -->\n```sh\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  script = shown.replaceAll("http://127.0.0.1:4000", exports.service.url);
});
afterAll(async () => {
  await endWorkers();
  await exports.stop();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "readme-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs the script in a new folder; `jq` selects the installed version. */
async function runScript(shell: string, jq: "jq" | "stand-in", token = exports.exporter.token) {
  const bin = await mkdtemp(path.join(tmpdir(), "bin-"));
  if (jq === "stand-in")
    await symlink(path.join(root, "test/helpers/fakeJq.js"), path.join(bin, "jq"));
  // The replacement for jq runs on the tests' Node.
  const search = [bin, path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(
    ":",
  );
  try {
    return await run(shell, ["-c", script], {
      cwd: folder,
      env: { PATH: search, TOKEN: token },
    }).catch((error: unknown) => error as { stdout: string; stderr: string });
  } finally {
    await rm(bin, { recursive: true });
  }
}

describe("the README's export script", () => {
  const kinds = (["jq", "stand-in"] as const).filter((kind) => kind === "stand-in" || hasJq);
  test.each(kinds.flatMap((jq) => ["bash", "sh"].map((shell) => [shell, jq] as const)))(
    "waits for the file, saves all products and prints the name, in %s with %s",
    async (shell, jq) => {
      const { stdout, stderr } = await runScript(shell, jq);
      const [job = "", file = ""] = stdout.trim().split("\n");
      expect(JSON.parse(job)).toMatchObject({
        data: {
          exportJob: {
            ...{ status: "completed", exportedRows: count, totalRows: count },
            ...{ fileSize: expect.any(Number) as unknown, errorMessage: null },
          },
        },
      });
      // Shows the script's output when the file is missing.
      const found = { files: await readdir(folder), stderr };
      expect(found).toEqual({ files: [file], stderr: expect.any(String) });
      expect(file).toMatch(/^Price list \d{4}-\d\d-\d\d\.xlsx$/);
      const workbook = new ExcelJS.Workbook();
      await workbook.xlsx.readFile(path.join(folder, file));
      expect(workbook.worksheets[0]?.rowCount).toBe(count + 1);
    },
  );

  test("prints why it cannot read the templates", async () => {
    const { token } = await exports.service.login(["exports.create", "products.read"]);
    const { stdout } = await runScript("bash", hasJq ? "jq" : "stand-in", token);
    expect(stdout).toContain("Missing required permission: exports.read");
    expect(stdout.split("\n")[0]).toContain("exportTemplates");
  });

  test("prints why no export starts", async () => {
    const { token } = await exports.service.login(["exports.read", "products.read"]);
    const { stdout } = await runScript("bash", hasJq ? "jq" : "stand-in", token);
    expect(stdout).toContain("Missing required permission: exports.create");
    expect(await readdir(folder)).toEqual([]);
  });
});
