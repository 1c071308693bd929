import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import type { ProcessRole } from "../settings/types.ts";

/** What the thread of the watchdog is given. */
interface WatchdogState {
  name: ProcessRole;
  timeoutMs: number;
  /** How often the main thread's event loop has turned, and whether a debugger may halt it. */
  turns: Int32Array<SharedArrayBuffer>;
}

const turnMs = 250;

/**
 * Ends this process when its event loop is blocked for longer than `timeoutMs`, so that it is started again. A thread of
 * the process does it: that needs no supervisor and works in every container, where a health check alone ends nothing.
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
  // From its source: a thread that loads TypeScript takes 10 MB more.
  new Worker(`(${watch.toString()})(require("node:worker_threads").workerData)`, {
    eval: true,
    workerData: { name, timeoutMs, turns } satisfies WatchdogState,
    // Modules that the main thread loads first are not for this one.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  }).unref();
}

/** Runs in the thread, and refers to nothing outside of itself. */
function watch({ name, timeoutMs, turns }: WatchdogState): void {
  const lookMs = Math.min(500, timeoutMs / 4);
  let seen = Atomics.load(turns, 0);
  let blockedMs = 0;
  let lookedAt = performance.now();

  const timer = setInterval(() => {
    const now = performance.now();
    // A process that was stopped, or a machine that was suspended, has not blocked its event loop.
    const passedMs = Math.min(now - lookedAt, 2 * lookMs);
    lookedAt = now;
    const turn = Atomics.load(turns, 0);
    const mayBeHalted = Atomics.load(turns, 1) === 1;
    blockedMs = turn !== seen || mayBeHalted ? 0 : blockedMs + passedMs;
    seen = turn;
    if (blockedMs <= timeoutMs) return;
    clearInterval(timer);
    end();
  }, lookMs);

  /** The log of the main thread cannot be used, and the reader of standard output may be what blocks it. */
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
