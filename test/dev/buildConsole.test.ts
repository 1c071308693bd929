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

/** Writes the processor time of the process, with all its threads, in milliseconds. */
const reportCpu =
  "process.on('exit', () => { const { user, system } = process.cpuUsage(); process.stderr.write(String((user + system) / 1000)); })";

async function run(...args: string[]): Promise<{ output: string; cpuMs: number }> {
  const preload = `data:text/javascript,${encodeURIComponent(reportCpu)}`;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", preload, ...args],
    { cwd: folder },
  );
  return { output: stdout, cpuMs: Number(stderr) };
}
const build = () => run("dev/buildConsole.ts");
/** A loop that takes 0.65 s where a build takes 2 s: it tells how fast this machine is now. */
const loop = () => run("-e", "let sum = 0; for (let i = 0; i < 1e8; i++) sum += i;");
const page = () => stat(path.join(folder, "admin/dist/index.html"));

test("the console is built once, in 5 s of processor time at most, and again only after a change", async () => {
  const first = await build();
  expect(first.output).toMatch(/^console built in \d+ ms\n$/);
  const built = await page();
  expect((await build()).output).toBe("");
  expect((await page()).mtimeMs).toBe(built.mtimeMs);
  await appendFile(path.join(folder, "src/text/suggest.ts"), "\n");
  const second = await build();
  expect(second.output).toContain("console built");
  expect((await page()).mtimeMs).toBeGreaterThan(built.mtimeMs);
  // Other processes on the machine can slow down one build. Five seconds of a machine on which the loop takes 0.65 s.
  const { cpuMs } = await loop();
  expect(Math.min(first.cpuMs, second.cpuMs) / cpuMs).toBeLessThan(5 / 0.65);
});
