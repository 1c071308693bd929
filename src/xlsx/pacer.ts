import { setImmediate as afterEvents } from "node:timers/promises";

/** How long work may go on before others get a turn, in milliseconds. */
const TURN_MS = 8;

/** A function to await often in long work: it gives way to the event loop when it is time to, and costs next to nothing else. */
export function pacer(): () => Promise<void> | undefined {
  let turn = performance.now();
  return () => {
    if (performance.now() - turn <= TURN_MS) return undefined;
    return afterEvents().then(() => {
      turn = performance.now();
    });
  };
}
