import type { Get } from "./types.ts";
import { whole } from "./types.ts";

export const workerSettings = {
  WORKER_CONCURRENCY: {
    schema: whole(1, 100),
    fallback: "4",
    meaning: "jobs that one worker process runs at a time",
  },
  WORKER_HEARTBEAT_MS: {
    schema: whole(100, 60_000),
    fallback: "4000",
    meaning:
      "time between two signs of life of a worker, in milliseconds; one silent for six of them loses its jobs to others",
  },
  WORKER_POLL_MS: {
    schema: whole(50, 60_000),
    fallback: "2000",
    meaning:
      "time between two looks for jobs whose moment has come, in milliseconds; new ones are announced to the workers and wait for no look",
  },
  WORKER_STATEMENT_TIMEOUT_MS: {
    schema: whole(1_000, 86_400_000),
    fallback: "600000",
    meaning:
      "longest time one SQL statement of a job may run, in milliseconds; a connection without an answer for two seconds longer is given up",
  },
  JOB_RETENTION_DAYS: {
    schema: whole(1, 3_650),
    fallback: "30",
    meaning:
      "days that jobs which are over stay in their owners' lists, and that the queue keeps those it gave up",
  },
} as const;

export function workerConfig(get: Get<typeof workerSettings>) {
  return {
    concurrency: get("WORKER_CONCURRENCY"),
    heartbeatMs: get("WORKER_HEARTBEAT_MS"),
    pollMs: get("WORKER_POLL_MS"),
    statementTimeoutMs: get("WORKER_STATEMENT_TIMEOUT_MS"),
    jobDays: get("JOB_RETENTION_DAYS"),
  };
}
