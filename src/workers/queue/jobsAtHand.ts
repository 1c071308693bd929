import type { WorkerEvents } from "graphile-worker";

/**
 * The ids of the jobs that this process is at. One that has ended counts for `graceMs` more: only then has the queue been told
 * for certain.
 */
export function jobsAtHand(events: WorkerEvents, graceMs: number): () => string[] {
  // With the moment at which each ended; a job may be started anew before its last attempt is forgotten.
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
