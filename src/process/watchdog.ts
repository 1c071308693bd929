import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import type { ProcessRole } from "../settings/types.ts";

/** The data of the watchdog's thread. */
interface WatchdogState {
  name: ProcessRole;
  timeoutMs: number;
  /** The tick counter of the main thread, and whether a debugger may halt it. */
  turns: Int32Array<SharedArrayBuffer>;
}

const turnMs = 250;

/**
 * Ends this process when its event loop is blocked for longer than `timeoutMs`, so that it is restarted. A thread does
 * it: that needs no supervisor and works in every container, where a failed health check alone ends nothing.
 */
export function startWatchdog(name: ProcessRole, timeoutMs: number): void {
  if (timeoutMs === 0) return;
  const turns = new Int32Array(new SharedArrayBuffer(8));
  const turn = () => {
    Atomics.add(turns, 0, 1);
    Atomics.store(turns, 1, inspectorUrl() === undefined ? 0 : 1);
  };
  turn();
  setInterval(turn, turnMs).unref();
  // As JavaScript source: a thread that loads TypeScript takes 10 MB more.
  new Worker(`(${watch.toString()})(require("node:worker_threads").workerData)`, {
    eval: true,
    workerData: { name, timeoutMs, turns } satisfies WatchdogState,
    // Without the modules that the main thread preloads.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  }).unref();
}

/** Runs in the thread; uses nothing from outside the function. */
function watch({ name, timeoutMs, turns }: WatchdogState): void {
  const checkIntervalMs = Math.min(500, timeoutMs / 4);
  let seen = Atomics.load(turns, 0);
  let blockedMs = 0;
  let checkedAt = performance.now();

  const timer = setInterval(() => {
    const now = performance.now();
    // A stopped process or a suspended machine does not count as a blocked event loop.
    const passedMs = Math.min(now - checkedAt, 2 * checkIntervalMs);
    checkedAt = now;
    const turn = Atomics.load(turns, 0);
    const mayBeHalted = Atomics.load(turns, 1) === 1;
    blockedMs = turn !== seen || mayBeHalted ? 0 : blockedMs + passedMs;
    seen = turn;
    if (blockedMs <= timeoutMs) return;
    clearInterval(timer);
    end();
  }, checkIntervalMs);

  /** The main thread's log is unusable, and a blocked standard output may be the cause. */
  function end(): void {
    const line = {
      level: "fatal",
      time: new Date().toISOString(),
      process: name,
      blockedMs: Math.round(blockedMs),
      msg: "event loop blocked",
    };
    const kill = () => process.kill(process.pid, "SIGKILL");
    process.getBuiltinModule("node:fs").write(1, `${JSON.stringify(line)}\n`, kill);
    setTimeout(kill, 1_000);
  }
}
