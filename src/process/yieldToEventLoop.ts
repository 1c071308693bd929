import { setImmediate } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/** Yields to the event loop; long steps from all requests run one per tick. */
export async function yieldToEventLoop(): Promise<void> {
  last = last.then(() => setImmediate());
  await last;
}

/** How much of a long response is read or written per tick, in bytes: a millisecond or two. */
export const bytesPerTurn = 262_144;
