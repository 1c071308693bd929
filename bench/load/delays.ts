import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { clock, lineOf, numbersIn, type Stretch } from "./stretches.ts";

// Imported by a server that is measured, ahead of its own code: notes in a file when its event loop was late, which the metrics do not tell.

const everyMs = 10;
/** What is shorter is not looked into. */
const leastMs = 10;

/** When an event loop was late. */
export interface Delay extends Stretch {
  /** How long its thread was on a processor since the look before, in milliseconds. */
  worked: number;
  /** The processor on which that ended. */
  processor: number;
}

/** What such a file tells. */
export function delaysIn(lines: string): Delay[] {
  return numbersIn(lines).map(([from = NaN, until = NaN, worked = NaN, processor = NaN]) => ({
    from,
    until,
    worked,
    processor,
  }));
}

const file = process.env["LOAD_DELAYS_FILE"];
// The processes that start the server and the worker are given the same.
if (file !== undefined && process.argv[1]?.endsWith("/src/server.ts")) {
  writeFileSync(file, "");
  let last = { at: clock(), worked: worked() };
  setInterval(() => {
    const [now, workedNow] = [clock(), worked()];
    const due = last.at + everyMs;
    if (now - due > leastMs)
      appendFileSync(file, lineOf(due, now, workedNow - last.worked, processor()));
    // What that took is not the server's.
    last = { at: clock(), worked: workedNow };
  }, everyMs).unref();
}

/** How long the main thread has been on a processor so far, in milliseconds. */
function worked(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

/** On which processor it is. */
function processor(): number {
  const text = readFileSync(`/proc/self/task/${process.pid}/stat`, "utf8");
  // The 39th; the name, which is the second, may hold spaces and ends with a parenthesis (proc_pid_stat(5)).
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[36]);
}
