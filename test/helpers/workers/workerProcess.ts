import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ConstantOverrides } from "../../../src/settings/constants.ts";
import { compileCache } from "../environment.ts";
import { expectNoSecrets } from "../secrets.ts";
import { waitFor } from "../waitFor.ts";

/** A worker process of a test. */
export interface WorkerProcess {
  pid: number;
  /** Its output so far, log and errors. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** The exit code, or null after a signal. */
  exited: Promise<number | null>;
}

const started = new Set<WorkerProcess>();
const withTestTasks = fileURLToPath(new URL("worker.ts", import.meta.url));

/** Short enough that a dead worker's jobs are released within three seconds, long enough for a live one on a busy machine. */
const heartbeatMs = 500;

/** The options of a worker process. */
export interface WorkerProcessOptions {
  /** Environment variables for Node itself. */
  nodeEnvironment?: Record<string, string>;
  /** Overrides of configuration constants. */
  constants?: ConstantOverrides;
}

/** Starts a worker against `url` and waits until it takes jobs. */
export async function startWorkerProcess(
  url: string,
  settings: Record<string, string> = {},
  { nodeEnvironment = {}, constants = {} }: WorkerProcessOptions = {},
): Promise<WorkerProcess> {
  const env = {
    NODE_ENV: "test",
    DATABASE_URL: url,
    WORKER_CONCURRENCY: "2",
    METRICS_PORT: "off",
    ...settings,
  };
  const worker = launch(
    [
      withTestTasks,
      JSON.stringify(env),
      JSON.stringify({ ...constants, worker: { heartbeatMs, pollMs: 200, ...constants.worker } }),
    ],
    nodeEnvironment,
  );
  await waitFor(
    "the worker to take jobs",
    () => worker.output().includes("worker started"),
    50_000,
  );
  return worker;
}

/** Starts a script of the project; `startWorkerProcess` is the usual way. */
export function launch(args: string[], env: Record<string, string>): WorkerProcess {
  let output = "";
  const child = spawn(process.execPath, args, {
    env: { ...compileCache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => (output += text));
  }
  const worker: WorkerProcess = {
    pid: child.pid ?? 0,
    output: () => output,
    signal: (name) => child.kill(name),
    exited: once(child, "close").then(([code]) => code as number | null),
  };
  started.add(worker);
  return worker;
}

/** Stops all running workers; fails when one wrote a secret to its output. */
export async function endWorkers(): Promise<void> {
  const workers = [...started];
  started.clear();
  for (const worker of workers) {
    worker.signal("SIGCONT");
    worker.signal("SIGKILL");
  }
  await Promise.all(
    workers.map(async (worker) => {
      await worker.exited;
      expectNoSecrets("the worker's log", worker.output());
    }),
  );
}
