import { monitorEventLoopDelay } from "node:perf_hooks";

/** The sampling interval of an event loop in milliseconds; the default of `prom-client`. */
const everyMs = 10;

/**
 * The delay of an event loop in milliseconds, computed from a value of `monitorEventLoopDelay`. That value is the time
 * between two samples, which is ten milliseconds without delay.
 */
export function toDelayMs(readMs: number): number {
  return Math.max(0, readMs - everyMs);
}

/** Samples the event loop of this process; returns a percentile of its delay. */
export function sampleEventLoopDelay(): (share: number) => number {
  const delay = monitorEventLoopDelay({ resolution: everyMs });
  delay.enable();
  return (share) => toDelayMs(delay.percentile(share * 100) / 1e6);
}
