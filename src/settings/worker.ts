import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { integer } from "./types.ts";

export const workerSettings = {
  WORKER_CONCURRENCY: {
    schema: integer(1, 100),
    fallback: "4",
    meaning: "jobs that one worker process runs at the same time",
  },
  JOB_RETENTION_DAYS: {
    schema: integer(1, 3_650),
    fallback: "30",
    meaning:
      "days after which finished jobs are deleted from their owners' lists, and failed jobs from the queue",
  },
} as const;

export function workerConfig(
  get: GetSetting<typeof workerSettings>,
  constants: Constants["worker"],
) {
  return {
    ...constants,
    concurrency: get("WORKER_CONCURRENCY"),
    jobDays: get("JOB_RETENTION_DAYS"),
  };
}
