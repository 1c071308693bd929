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
} as const;

export function workerConfig(get: Get<typeof workerSettings>) {
  return { concurrency: get("WORKER_CONCURRENCY"), heartbeatMs: get("WORKER_HEARTBEAT_MS") };
}
