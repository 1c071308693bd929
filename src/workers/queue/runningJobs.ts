import type { WorkerEvents } from "graphile-worker";

/**
 * Returns a function that lists the ids of this process's jobs. An ended job stays listed for `graceMs`, because the
 * queue may not have recorded its end yet.
 */
export function trackRunningJobs(events: WorkerEvents, graceMs: number): () => string[] {
  // Job id to the time its last attempt ended; null while an attempt runs.
  const known = new Map<string, number | null>();
  events.on("job:start", ({ job }) => known.set(job.id, null));
  events.on("job:complete", ({ job }) => known.set(job.id, performance.now()));
  return () => {
    const forgotten = performance.now() - graceMs;
    for (const [id, endedAt] of known)
      if (endedAt !== null && endedAt < forgotten) known.delete(id);
    return [...known.keys()];
  };
}
