import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often an event loop is looked at, in milliseconds; what `prom-client` takes by itself. */
const everyMs = 10;

/**
 * How late an event loop was, in milliseconds, of what `monitorEventLoopDelay` reads: that is the time from one look to the next, ten
 * milliseconds where nothing is ever late.
 */
export function lateOf(readMs: number): number {
  return Math.max(0, readMs - everyMs);
}

/** Looks at the event loop of this process; tells by how much it was late in so large a share of the looks. */
export function watchLateness(): (share: number) => number {
  const delay = monitorEventLoopDelay({ resolution: everyMs });
  delay.enable();
  return (share) => lateOf(delay.percentile(share * 100) / 1e6);
}
