import { setFlagsFromString } from "node:v8";

/**
 * V8 flags of servers and workers, which can only be set at the start. One helper thread instead of four: on a busy
 * machine each one takes as much processor time as the main thread. Semi-spaces of 16 MB instead of 64: copying their
 * live objects stops the process (`bench/RESULTS.md`).
 */
export const nodeFlags: readonly string[] = ["--v8-pool-size=1", "--max-semi-space-size=16"];

/** The growth of the heap before a full collection, in percent of its live objects. */
const growthPercent = 50;

/**
 * Limits the growth of the heap and turns compaction off. By default a heap with 90 MB of live objects grew to 434 MB and
 * stayed there; compaction stops the process and freed nothing (`bench/RESULTS.md`). To be called before the heap fills.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString("--no-compact");
}
