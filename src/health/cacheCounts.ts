/** What a process keeps instead of working it out anew: documents read, plans made, statements of direct reads. */
export type CacheName = "documents" | "plans" | "reads";

const counts = new Map<CacheName, { hits: number; misses: number }>();

/** Counts one look into a cache, for the metrics of this process. */
export function countLookup(cache: CacheName, found: boolean): void {
  let count = counts.get(cache);
  if (!count) counts.set(cache, (count = { hits: 0, misses: 0 }));
  if (found) count.hits++;
  else count.misses++;
}

/** The looks into each cache since the process began. */
export function cacheCounts(): ReadonlyMap<CacheName, { hits: number; misses: number }> {
  return counts;
}
