import { setFlagsFromString } from "node:v8";

/** How much a heap may grow over what lives before all of it is collected, in percent of that. */
const growthPercent = 50;

/**
 * Has this process collect its garbage before the heap is more than half as large again as what lives. Where there is plenty of memory, V8
 * lets it become four times as large, and a process seldom gives back what it once took; to collect more often costs
 * next to nothing, since most of it is done beside. To be called before the heap is filled.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}
