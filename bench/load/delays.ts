import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { monotonicMs, formatLine, parseLines, type Interval } from "./intervals.ts";

// Imported by a measured server before its own code: logs event-loop delays with their times, which metrics lack, to a file.

const everyMs = 10;
/** Shorter delays are ignored. */
const leastMs = 10;

/** A delay of an event loop. */
export interface Delay extends Interval {
  /** CPU time of its thread since the previous sample, in milliseconds. */
  worked: number;
  /** The processor at the end of the delay. */
  processor: number;
}

/** Parses such a file. */
export function delaysIn(lines: string): Delay[] {
  return parseLines(lines).map(([from = NaN, until = NaN, worked = NaN, processor = NaN]) => ({
    from,
    until,
    worked,
    processor,
  }));
}

const file = process.env["LOAD_DELAYS_FILE"];
// The parent processes of server and worker get the same option.
if (file !== undefined && process.argv[1]?.endsWith("/src/server.ts")) {
  writeFileSync(file, "");
  let last = { at: monotonicMs(), worked: worked() };
  setInterval(() => {
    const [now, workedNow] = [monotonicMs(), worked()];
    const due = last.at + everyMs;
    if (now - due > leastMs)
      appendFileSync(file, formatLine(due, now, workedNow - last.worked, processor()));
    // Excludes the time of this measurement.
    last = { at: monotonicMs(), worked: workedNow };
  }, everyMs).unref();
}

/** CPU time of the main thread so far, in milliseconds. */
function worked(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

/** The current processor of the main thread. */
function processor(): number {
  const text = readFileSync(`/proc/self/task/${process.pid}/stat`, "utf8");
  // The 39th; the name, which is the second, may hold spaces and ends with a parenthesis (proc_pid_stat(5)).
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[36]);
}
