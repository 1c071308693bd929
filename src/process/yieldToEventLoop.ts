import { setImmediate } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/**
 * Waits for a turn of the event loop that no other caller has: steps that take long come one at a time, whosever they are, and
 * everyone else has a turn between two of them.
 */
export async function yieldToEventLoop(): Promise<void> {
  last = last.then(() => setImmediate());
  await last;
}

/** How much of one long answer is read or written in one turn, in bytes: that takes a millisecond or two. */
export const bytesPerTurn = 262_144;
