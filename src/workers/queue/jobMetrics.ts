import type { WorkerEvents } from "graphile-worker";
import { Counter, Histogram, type Registry } from "prom-client";
import { LostOwnershipError } from "./ownership.ts";
import { JobRequeuedError } from "./defineTask.ts";

/**
 * Counts job attempts by outcome and measures their duration. Outcomes: `done`, `failed` (is retried), `given_up`,
 * `given_back` (no attempt consumed), `lost` (another worker owns the job).
 */
export function observeJobs(
  registry: Registry,
  events: WorkerEvents,
  tasks: readonly string[],
): void {
  const outcomes = new Counter({
    name: "office_jobs_total",
    help: "Attempts at jobs by task and how they ended",
    labelNames: ["task", "outcome"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "office_job_seconds",
    help: "Time of one attempt at a job",
    labelNames: ["task"],
    buckets: [0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1800],
    registers: [registry],
  });
  const known = new Set(tasks);
  const began = new Map<string, number>();
  events.on("job:start", ({ job }) => began.set(job.id, performance.now()));
  events.on("job:complete", ({ job, error }) => {
    const started = began.get(job.id);
    began.delete(job.id);
    const task = known.has(job.task_identifier) ? job.task_identifier : "other";
    const isLast = job.attempts >= job.max_attempts;
    outcomes.inc({ task, outcome: outcomeOf(error, isLast) });
    if (started !== undefined) seconds.observe({ task }, (performance.now() - started) / 1000);
  });
}

function outcomeOf(error: unknown, isLast: boolean): string {
  if (!error) return "done";
  if (error instanceof JobRequeuedError) return "given_back";
  if (error instanceof LostOwnershipError) return "lost";
  return isLast ? "given_up" : "failed";
}
