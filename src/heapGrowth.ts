import { setFlagsFromString } from "node:v8";

/** How much a heap may grow over what lives before all of it is collected, in percent of that. */
const growthPercent = 50;

/**
 * Has this process collect its garbage before the heap is more than half as large again as what lives. Left alone, V8 was seen to fill 434 MB
 * over 90 that live, and the process kept what it had taken (`bench/RESULTS.md`). To be called before the heap is filled.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}
