import { Logger as QueueLogger } from "graphile-worker";
import type { Logger } from "pino";
import { describeOutage, isOutage } from "../../errors/databaseErrors.ts";

const quiet = new Set(["LostOwnershipError", "JobRequeuedError"]);

/**
 * Writes the queue's log lines to the service's log. Of a job it logs id, task, tenant and correlation id, never the
 * input.
 */
export function queueLogger(log: Logger): QueueLogger {
  return new QueueLogger(() => (level, message, meta) => {
    const error = meta["error"] instanceof Error ? meta["error"] : undefined;
    const fields = {
      ...jobFields(meta["job"]),
      ...(error && { error: errorFields(error) }),
      ...(isOutage(error) && { outage: describeOutage(error).event }),
      ...(typeof meta["duration"] === "number" && { durationMs: Math.round(meta["duration"]) }),
    };
    if (meta["success"] === true) {
      log.info(fields, "job done");
    } else if (meta["failure"] === true) {
      // Another worker owns the job or will run it, so this is no failure.
      if (quiet.has(error?.name ?? "")) log.warn(fields, "job yielded to another worker");
      else log.error(fields, "job failed");
    } else {
      log[level === "warning" ? "warn" : level](fields, message);
    }
  });
}

function jobFields(job: unknown): Record<string, unknown> {
  const { id, task_identifier, attempts, max_attempts, payload } = record(job);
  if (id === undefined) return {};
  const { tenant, correlationId } = record(payload);
  return {
    jobId: id,
    task: task_identifier,
    attempt: attempts,
    attempts: max_attempts,
    tenant,
    correlationId,
  };
}

/** Omits the properties in which PostgreSQL's errors hold row values. */
function errorFields(error: Error): Record<string, unknown> {
  const { code } = record(error);
  return { name: error.name, message: error.message, code, stack: error.stack };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
