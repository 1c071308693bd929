import { setFlagsFromString } from "node:v8";

/**
 * Flags that a server and a worker start with; V8 cannot change them later. One helper thread instead of four: on a busy machine
 * each of them takes as much processor time as the main thread. And 16 MB for each half of the young generation instead of 64:
 * its live objects are copied while everything else waits (`bench/RESULTS.md`).
 */
export const nodeFlags: readonly string[] = ["--v8-pool-size=1", "--max-semi-space-size=16"];

/** How much a heap may grow over its live objects before a full collection, in percent of these. */
const growthPercent = 50;

/**
 * Makes V8 collect garbage before the heap is half as large again as its live objects, and never compact. By default a heap with
 * 90 MB of live objects grew to 434 MB and kept them; compacting stops everything else and freed nothing (`bench/RESULTS.md`).
 * To be called before the heap fills.
 */
export function tuneHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString("--no-compact");
}
