import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { monotonicMs, formatLine, parseLines, type Interval } from "./intervals.ts";

// Detects pauses of the whole machine, such as by its host. The steal time of the host does not include all of them.
// On each processor a real-time process wakes up every two milliseconds. When it is late, no other process ran
// there either, except for the kernel.

const everyMs = 2;
const leastMs = 2;

/** Watches the machine for pauses. */
export interface PauseMonitor {
  /** The pauses of each processor since the start; null when the system does not allow real-time priority. */
  pauses(): readonly Interval[][] | null;
  stop(): void;
}

export async function monitorPauses(): Promise<PauseMonitor> {
  const watchers: ChildProcess[] = [];
  const stop = () => {
    for (const watcher of watchers) watcher.kill();
  };
  const outputs: { lines: string }[] = [];
  let isKnown = true;
  for (let cpu = 0; cpu < availableParallelism(); cpu++) {
    const watcher = spawn(process.execPath, [import.meta.filename], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    watchers.push(watcher);
    // Its first line reports that it runs.
    await Promise.race([once(watcher.stdout, "data"), once(watcher, "exit")]);
    const own = { lines: "" };
    outputs.push(own);
    watcher.stdout.on("data", (chunk: Buffer) => (own.lines += chunk.toString()));
    isKnown &&= setRealTimePriority(watcher.pid ?? 0, cpu);
  }
  if (!isKnown) stop();
  const pauses = () =>
    isKnown
      ? outputs.map(({ lines }) =>
          parseLines(lines).map(([from = NaN, until = NaN]) => ({ from, until })),
        )
      : null;
  return { pauses, stop };
}

/** Gives a process real-time priority on one processor, with tools of Debian's base system. */
function setRealTimePriority(pid: number, cpu: number): boolean {
  try {
    for (const [tool, ...args] of [
      ["taskset", "--cpu-list", "--pid", String(cpu), String(pid)],
      ["chrt", "--fifo", "--pid", "50", String(pid)],
    ] as const)
      execFileSync(tool, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const starter = process.ppid;
  const never = new Int32Array(new SharedArrayBuffer(4));
  writeSync(1, "\n");
  let last = monotonicMs();
  while (process.ppid === starter) {
    Atomics.wait(never, 0, 0, everyMs);
    const now = monotonicMs();
    const due = last + everyMs;
    if (now - due > leastMs) writeSync(1, formatLine(due, now));
    last = now;
  }
}
