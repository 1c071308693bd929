import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { compileCache, programPath } from "../helpers/environment.ts";

const log = join(import.meta.dirname, "../../src/process/log.ts");

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** A process that logs one line, and on request two more before it exits. */
function startLogging() {
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { createLog } from ${JSON.stringify(log)};
       const log = createLog("info");
       log.info("first");
       process.on("message", () => { log.info("second"); log.info("third"); process.exit(3); });`,
    ],
    {
      env: { PATH: programPath, ...compileCache },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    },
  );
  children.push(child);
  return { child, output: child.stdout!, exit: once(child, "exit") as Promise<[number | null]> };
}

test("a process flushes its log before it exits", async () => {
  const { child, output, exit } = startLogging();
  let text = "";
  output.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(output, "data");
  child.send("end");
  await once(output, "end");
  expect((await exit)[0]).toBe(3);
  const lines = text.trim().split("\n");
  // At the exit, lines in progress and queued lines may swap; their times show the order.
  expect(new Set(lines.map((line) => (JSON.parse(line) as { msg: string }).msg))).toEqual(
    new Set(["first", "second", "third"]),
  );
});

test("a process exits although its log has no reader", async () => {
  const { child, output, exit } = startLogging();
  await once(output, "data");
  output.destroy();
  await once(output, "close");
  child.send("end");
  expect((await exit)[0]).toBe(3);
});
