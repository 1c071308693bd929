import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";

const project = path.resolve(import.meta.dirname, "../..");
// Root may read every file.
const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const script = `
import { watchFolders } from "./watch.ts";
watchFolders(".", ["src"], async (paths) => console.log("changed", ...paths), (line) => console.log(line));
console.log("watching");
`;

test("logs an unreadable file and keeps watching the others", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "watch-"));
  await chmod(folder, 0o777);
  await mkdir(path.join(folder, "src"));
  await cp(path.join(project, "dev/watch.ts"), path.join(folder, "watch.ts"));
  await writeFile(path.join(folder, "script.mts"), script);
  const child = spawn(process.execPath, ["script.mts"], { cwd: folder, ...nobody });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "exit");
  try {
    await waitFor("the watcher", () => output.includes("watching"));
    await writeFile(path.join(folder, "src", "closed.ts"), "", { mode: 0 });
    await waitFor("the log", () => output.includes("cannot watch a file"));
    await writeFile(path.join(folder, "src", "open.ts"), "");
    await waitFor("the change", () => /changed.*open\.ts/.test(output));
  } finally {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
  expect(output).toContain("closed.ts");
});
