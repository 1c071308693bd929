import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { clock, lineOf } from "./stretches.ts";

// Imported by a server that is measured, ahead of its own code: notes in a file when its event loop was late, which the metrics do not tell.

const everyMs = 10;
/** What is shorter is not looked into. */
const leastMs = 10;

const file = process.env["LOAD_DELAYS_FILE"];
// The processes that start the server and the worker are given the same.
if (file !== undefined && process.argv[1]?.endsWith("/src/server.ts")) {
  writeFileSync(file, "");
  let last = { at: clock(), worked: worked() };
  setInterval(() => {
    const [now, workedNow] = [clock(), worked()];
    const late = { from: last.at + everyMs, until: now, worked: workedNow - last.worked };
    if (late.until - late.from > leastMs) appendFileSync(file, lineOf(late));
    // What that took is not the server's.
    last = { at: clock(), worked: workedNow };
  }, everyMs).unref();
}

/** How long the main thread has been on a processor so far, in milliseconds. */
function worked(): number {
  const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}
