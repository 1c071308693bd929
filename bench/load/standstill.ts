import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { clock, lineOf, numbersIn, type Stretch } from "./stretches.ts";

// Whether the machine itself stood still, as one does whose host halts it: the host counts only what it gave to others, and not always that.
// On each processor something wakes up every two milliseconds that comes before all other processes on this machine. When that is late, none
// of them was at work there either, but what the kernel does in one go.

const everyMs = 2;
const leastMs = 2;

/** Watches the machine. */
export interface Standstill {
  /** When each processor stood still since the watch began; null where the system does not let anything come before all else. */
  stretches(): readonly Stretch[][] | null;
  stop(): void;
}

export async function watchStandstill(): Promise<Standstill> {
  const watchers: ChildProcess[] = [];
  const stop = () => {
    for (const watcher of watchers) watcher.kill();
  };
  const told: { lines: string }[] = [];
  let isKnown = true;
  for (let cpu = 0; cpu < availableParallelism(); cpu++) {
    const watcher = spawn(process.execPath, [import.meta.filename], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    watchers.push(watcher);
    // Its first line says that it runs.
    await Promise.race([once(watcher.stdout, "data"), once(watcher, "exit")]);
    const own = { lines: "" };
    told.push(own);
    watcher.stdout.on("data", (chunk: Buffer) => (own.lines += chunk.toString()));
    isKnown &&= comesFirst(watcher.pid ?? 0, cpu);
  }
  if (!isKnown) stop();
  const stretches = () =>
    isKnown
      ? told.map(({ lines }) =>
          numbersIn(lines).map(([from = NaN, until = NaN]) => ({ from, until })),
        )
      : null;
  return { stretches, stop };
}

/** Has a process come before all else on one processor, by tools that are in Debian's base. */
function comesFirst(pid: number, cpu: number): boolean {
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
  let last = clock();
  while (process.ppid === starter) {
    Atomics.wait(never, 0, 0, everyMs);
    const now = clock();
    const due = last + everyMs;
    if (now - due > leastMs) writeSync(1, lineOf(due, now));
    last = now;
  }
}
