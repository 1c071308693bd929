import { setImmediate as afterEvents } from "node:timers/promises";

/** The longest time between two yields. */
const MAX_BUSY_MS = 8;

/**
 * Returns a function to await often in long work: it yields to the event loop when needed and is otherwise nearly free.
 */
export function pacer(): () => Promise<void> | undefined {
  let turn = performance.now();
  return () => {
    if (performance.now() - turn <= MAX_BUSY_MS) return undefined;
    return afterEvents().then(() => {
      turn = performance.now();
    });
  };
}
