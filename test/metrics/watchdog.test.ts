import { once } from "node:events";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { send } from "../helpers/http.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  endWorkers,
  startWorkerProcess,
  type WorkerProcess,
} from "../helpers/workers/workerProcess.ts";

const timeoutMs = 1_000;
// Blocks the event loop for this duration at SIGUSR2.
const blocker = (ms: number) =>
  `process.on("SIGUSR2", () => { const end = Date.now() + ${ms}; while (Date.now() < end); });`;
const preload = (code: string) => `--import data:text/javascript,${encodeURIComponent(code)}`;
const nodeOptions = (blockMs: number, flags = "") => ({
  NODE_OPTIONS: `${flags} ${preload(blocker(blockMs))}`,
});
const constants = { eventLoopTimeoutMs: timeoutMs };

let database: TestDatabase;
let service: ServerProcess | undefined;

beforeAll(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await endWorkers();
});
afterAll(() => database.drop());

const start = async (blockMs: number, flags?: string) =>
  (service = await startServerProcess({
    database,
    env: nodeOptions(blockMs, flags),
    constants,
  }));
const isAlive = ({ url }: ServerProcess) =>
  send(url, { method: "GET", path: "/healthz" }).then(({ status }) => status === 200);
const blocked = (output: string, process: string) => {
  const line = output.split("\n").find((text) => text.includes('"event loop blocked"')) ?? "{}";
  expect(JSON.parse(line)).toEqual({
    level: "fatal",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    process,
    blockedMs: expect.any(Number),
    msg: "event loop blocked",
  });
  const { blockedMs } = JSON.parse(line) as { blockedMs: number };
  expect(blockedMs).toBeGreaterThan(timeoutMs);
  expect(blockedMs).toBeLessThan(20_000);
};

test("ends a server whose event loop is blocked and logs for how long", async () => {
  const server = await start(600_000);
  const exit = once(server.process, "exit");
  server.process.kill("SIGUSR2");
  expect(await exit).toEqual([null, "SIGKILL"]);
  await waitFor("the log", () => server.output().includes("event loop blocked"));
  blocked(server.output(), "server");
});

test("ends a worker whose event loop is blocked and logs for how long", async () => {
  const worker: WorkerProcess = await startWorkerProcess(
    database.url,
    {},
    { nodeEnvironment: nodeOptions(600_000), constants },
  );
  worker.signal("SIGUSR2");
  expect(await worker.exited).toBeNull();
  blocked(worker.output(), "worker");
});

test("ignores a server that is blocked for less than the timeout", async () => {
  const server = await start(timeoutMs / 2);
  server.process.kill("SIGUSR2");
  const end = performance.now() + 2 * timeoutMs;
  await waitFor("answers", async () => (await isAlive(server)) && performance.now() > end);
});

test("ignores a server that SIGSTOP stopped", async () => {
  const server = await start(0);
  server.process.kill("SIGSTOP");
  const stoppedUntil = performance.now() + 3 * timeoutMs;
  await waitFor("more than the timeout", () => performance.now() > stoppedUntil);
  server.process.kill("SIGCONT");
  const end = performance.now() + 2 * timeoutMs;
  await waitFor("answers", async () => (await isAlive(server)) && performance.now() > end);
});

test("ignores a server that a debugger may halt", async () => {
  const server = await start(3 * timeoutMs, "--inspect=127.0.0.1:0");
  server.process.kill("SIGUSR2");
  const end = performance.now() + 3 * timeoutMs;
  await waitFor("answers", async () => (await isAlive(server)) && performance.now() > end);
});
