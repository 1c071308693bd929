import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { afterEach, expect, test } from "@jest/globals";
import type { ReadyMessage } from "../../src/process/lifecycle.ts";
import { identifyProcess } from "../../dev/emulators/processIds.ts";
import type { Supervised, SuperviseOptions } from "../../dev/supervise.ts";
import { restartDelay, supervise } from "../../dev/supervise.ts";
import { killHard } from "../helpers/dev/childScripts.ts";
import { waitFor } from "../helpers/waitFor.ts";

const lifecycle = new URL("../../src/process/lifecycle.ts", import.meta.url).href;
const load = `const { onStop, reportReady } = await import(${JSON.stringify(lifecycle)});`;
const steady = `${load} setInterval(() => {}, 1000); onStop(async () => {}); reportReady();`;
const quick = { firstDelayMs: 10, longestDelayMs: 40 };

const pids: number[] = [];
let supervised: Supervised | undefined;

afterEach(async () => {
  await supervised?.stop();
  supervised = undefined;
  expect(pids.splice(0).filter((pid) => identifyProcess(pid) !== undefined)).toEqual([]);
});

function spawnScript(script: string) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    detached: true,
  });
  if (child.pid !== undefined) pids.push(child.pid);
  return child;
}

function run(script: string, options: Partial<SuperviseOptions> = {}) {
  const seen = { ready: [] as ReadyMessage[], lines: [] as string[], gaveUp: 0 };
  supervised = supervise({
    name: "child",
    spawn: () => spawnScript(script),
    log: (line) => seen.lines.push(line),
    onReady: (message) => seen.ready.push(message),
    onGiveUp: () => seen.gaveUp++,
    stopTimeoutMs: 10_000,
    timing: quick,
    ...options,
  });
  return { seen, supervised };
}

test("the delay before a restart doubles from 250 ms to 10 s", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 50].map((failures) => restartDelay(failures));
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
});

test("forwards the ready message of a child", async () => {
  const { seen } = run(`${load} onStop(async () => {}); reportReady({ url: "http://here" });`);
  await waitFor("the child to be ready", () => seen.ready.length > 0);
  expect(seen.ready).toEqual([{ type: "ready", url: "http://here" }]);
});

test("a killed child is restarted", async () => {
  const { seen } = run(steady);
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  process.kill(pids[0] ?? 0, "SIGKILL");
  await waitFor("its successor to be ready", () => seen.ready.length === 2);
  expect(seen.lines).toEqual(["the child ended (SIGKILL); it starts again in 10 ms"]);
});

test("a child that was never ready is started five times", async () => {
  const { seen } = run("process.exit(3)");
  await waitFor("giving up", () => seen.gaveUp > 0);
  expect(pids).toHaveLength(5);
  expect(seen.lines).toEqual([
    "the child ended (exit code 3); it starts again in 10 ms",
    "the child ended (exit code 3); it starts again in 20 ms",
    "the child ended (exit code 3); it starts again in 40 ms",
    "the child ended (exit code 3); it starts again in 40 ms",
    "the child ended (exit code 3), 5 times without ever being ready",
  ]);
});

test("a child that was ready once is always restarted", async () => {
  const { seen } = run(`${load} reportReady(); process.disconnect();`);
  await waitFor("seven starts", () => seen.ready.length >= 7);
  expect(seen.gaveUp).toBe(0);
});

test("the delay is reset after a child has run long enough", async () => {
  const { seen } = run("process.exit(3)", { timing: { ...quick, forgetAfterMs: 0 } });
  await waitFor("three restarts", () => seen.lines.length >= 3);
  const wait = "the child ended (exit code 3); it starts again in 10 ms";
  expect(seen.lines.slice(0, 3)).toEqual([wait, wait, wait]);
});

test("a missing program counts as a failure", async () => {
  const { seen } = run("", { spawn: () => spawn("/no/such/program") });
  await waitFor("giving up", () => seen.gaveUp > 0);
  expect(seen.lines[0]).toContain("cannot be started");
});

test("a requested restart waits for the old child and is not a failure", async () => {
  const { seen, supervised: child } = run(steady);
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  await child.restart();
  expect(identifyProcess(pids[0] ?? 0)).toBeUndefined();
  await waitFor("its successor to be ready", () => seen.ready.length === 2);
  expect(seen.lines).toEqual([]);
});

test("concurrent restart requests cause one restart", async () => {
  const { seen, supervised: child } = run(steady);
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  await Promise.all([child.restart(), child.restart()]);
  await waitFor("its successor to be ready", () => seen.ready.length === 2);
  expect(pids).toHaveLength(2);
  await child.restart();
  await waitFor("another one to be ready", () => seen.ready.length === 3);
  expect(pids).toHaveLength(3);
  expect(seen.lines).toEqual([]);
});

test("a stop during a restart leaves no process", async () => {
  const { seen, supervised: child } = run(steady);
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  await Promise.all([child.restart(), child.stop()]);
  expect(pids).toHaveLength(1);
});

test("a stop lets the child finish its work", async () => {
  const { seen, supervised: child } = run(`${load}
    setInterval(() => {}, 1000);
    onStop(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      process.send({ type: "ready", url: "finished" });
    });
    reportReady();`);
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  await child.stop();
  expect(seen.ready.at(-1)?.url).toBe("finished");
  expect(seen.lines).toEqual([]);
});

test("a child that does not stop in time is killed", async () => {
  const deaf = `${load} process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); reportReady();`;
  const { seen, supervised: child } = run(deaf, { stopTimeoutMs: 50 });
  await waitFor("the child to be ready", () => seen.ready.length === 1);
  await child.stop();
  expect(seen.lines).toEqual(["the child does not stop and is killed"]);
});

async function stopped(script: string, stop: (child: ReturnType<typeof spawnScript>) => void) {
  const child = spawnScript(`${load} setInterval(() => {}, 1000); ${script} reportReady();`);
  try {
    await once(child, "message");
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const ended = Promise.all([once(child, "exit"), once(child.stderr as Readable, "end")]);
    stop(child);
    const [[code]] = (await ended) as [[number | null], unknown];
    return { code, errors };
  } finally {
    await killHard(child);
  }
}

test("a process runs its stop handler once, with the reason, and exits with 0", async () => {
  const script = "onStop(async (reason) => console.error(reason));";
  const end = await stopped(script, (child) => {
    child.kill("SIGTERM");
    child.kill("SIGTERM");
    child.kill("SIGINT");
  });
  expect(end.code).toBe(0);
  expect(end.errors).toMatch(/^(SIGTERM|SIGINT)\n$/);
});

test("a process stops when its supervisor has exited", async () => {
  const script = "onStop(async (reason) => console.error(reason));";
  const end = await stopped(script, (child) => child.disconnect());
  expect(end).toEqual({ code: 0, errors: "the supervisor is gone\n" });
});

test("a process whose stop handler fails exits with 1 and logs the error", async () => {
  const end = await stopped('onStop(() => { throw new Error("no luck"); });', (child) => {
    child.kill("SIGTERM");
  });
  expect(end.code).toBe(1);
  expect(end.errors).toContain("stopping failed: Error: no luck");
});

test("a process whose stop handler takes too long exits with 1", async () => {
  const end = await stopped("onStop(() => new Promise(() => {}), { timeoutMs: 50 });", (child) => {
    child.kill("SIGTERM");
  });
  expect(end.code).toBe(1);
  expect(end.errors).toContain("not everything finished in time");
});
