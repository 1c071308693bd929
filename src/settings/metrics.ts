import { z } from "zod";
import type { Get } from "./types.ts";
import { whole } from "./types.ts";

const port = z.union([z.literal("off").transform(() => null), whole(0, 65_535)], {
  error: "must be a port from 0 to 65535, or off",
});

/** Where operators and their Prometheus look at a process. */
export const metricsSettings = {
  METRICS_PORT: {
    schema: port,
    fallback: "9464",
    meaning:
      "port of the server's `/metrics` and `/health`, apart from its own; 0 takes a free one, `off` opens none; outside production a free one is taken where this is in use",
  },
  METRICS_WORKER_PORT: {
    schema: port,
    fallback: "9465",
    meaning: "the same of the worker",
  },
  METRICS_HOST: {
    schema: z.string().min(1),
    fallback: "127.0.0.1",
    meaning:
      "address that these ports listen on; they ask for no login: open them to the operators' network only",
  },
} as const;

export function metricsConfig(get: Get<typeof metricsSettings>) {
  return {
    port: get("METRICS_PORT"),
    workerPort: get("METRICS_WORKER_PORT"),
    host: get("METRICS_HOST"),
  };
}
