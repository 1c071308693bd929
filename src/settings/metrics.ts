import { z } from "zod";
import type { GetSetting } from "./types.ts";
import { integer } from "./types.ts";

const port = z.union([z.literal("off").transform(() => null), integer(0, 65_534)], {
  error: "must be a port from 0 to 65534, or off",
});

/** The ports for operators and Prometheus. */
export const metricsSettings = {
  METRICS_PORT: {
    schema: port,
    fallback: "9464",
    meaning:
      "port of the server's `/metrics` and `/health`, the worker uses the next one; 0 takes free ports, `off` opens none; outside production a free port replaces one in use",
  },
  METRICS_HOST: {
    schema: z.string().min(1),
    fallback: "127.0.0.1",
    meaning:
      "address that the metrics port listens on; the port requires no login: open it to the operators' network only",
  },
} as const;

export function metricsConfig(get: GetSetting<typeof metricsSettings>) {
  const port = get("METRICS_PORT");
  return {
    port,
    // Both run on one machine with the same settings.
    workerPort: port === null || port === 0 ? port : port + 1,
    host: get("METRICS_HOST"),
  };
}
