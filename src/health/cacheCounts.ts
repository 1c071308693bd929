/** The caches of a process: parsed documents, Grafast's plans, and compiled statements of the SQL-JSON path. */
export type CacheName = "documents" | "plans" | "reads";

const counts = new Map<CacheName, { hits: number; misses: number }>();

/** Counts a cache look-up for the metrics. */
export function countLookup(cache: CacheName, found: boolean): void {
  let count = counts.get(cache);
  if (!count) counts.set(cache, (count = { hits: 0, misses: 0 }));
  if (found) count.hits++;
  else count.misses++;
}

/** The look-ups of each cache since the start of the process. */
export function cacheCounts(): ReadonlyMap<CacheName, { hits: number; misses: number }> {
  return counts;
}
