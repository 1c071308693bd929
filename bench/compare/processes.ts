import { readdirSync, readFileSync } from "node:fs";

// Linux only, like the benchmark: figures of whole processes, including ended children.
const ticksPerSecond = 100;

function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name in parentheses, which may hold spaces: state is the first.
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** The processor time that the processes have used so far, in seconds. */
export function cpuSecondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const [user = 0, system = 0] = statOf(pid).slice(11, 13).map(Number);
    return sum + (user + system) / ticksPerSecond;
  }, 0);
}

/** The same for a PostgreSQL server, including ended processes such as parallel workers. */
export function cpuSecondsOfPostgres(postmaster: number): number {
  const [user = 0, system = 0] = statOf(postmaster).slice(13, 15).map(Number);
  return cpuSecondsOf(postgresProcesses(postmaster)) + (user + system) / ticksPerSecond;
}

/** A PostgreSQL server's processes: the first one and those that it started. */
function postgresProcesses(postmaster: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)[1]) === postmaster);
  return [postmaster, ...children];
}

/** The current memory of a process. */
export function residentMegabytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? NaN) / 1024;
}

/** The share of processor time that the host gave to other machines since `before`, an earlier result; 0 to 1. */
export function stolenSince(before: Ticks): number {
  const now = ticks();
  return (now.stolen - before.stolen) / Math.max(1, now.all - before.all);
}

/** The times of all processors since the machine's start. */
export interface Ticks {
  all: number;
  /** Time in which a process of this machine was ready to run. */
  stolen: number;
}

export function ticks(): Ticks {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of the first two.
  const counts = line.split(/ +/).slice(1, 9).map(Number);
  return { all: counts.reduce((sum, count) => sum + count, 0), stolen: counts[7] ?? 0 };
}
