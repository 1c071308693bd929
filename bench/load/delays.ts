import { appendFileSync } from "node:fs";
import { clock, lineOf } from "./stretches.ts";

// Imported by a server that is measured, ahead of its own code: notes in a file when its event loop was late, which the metrics do not tell.

const everyMs = 10;
/** What is shorter is not looked into. */
const leastMs = 10;

const file = process.env["LOAD_DELAYS_FILE"];
// The processes that start the server and the worker are given the same.
if (file !== undefined && process.argv[1]?.endsWith("/src/server.ts")) {
  let last = clock();
  setInterval(() => {
    const now = clock();
    const late = { from: last + everyMs, until: now };
    if (late.until - late.from > leastMs) appendFileSync(file, lineOf(late));
    // What that took is not the server's.
    last = clock();
  }, everyMs).unref();
}
