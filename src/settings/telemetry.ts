import { z } from "zod";
import type { Get } from "./types.ts";
import { httpUrl } from "./types.ts";

export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "where traces go, an OTLP receiver over HTTP such as `http://127.0.0.1:4318`; without it nothing of them is loaded",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: z.string().regex(/^[^=,\s]+=[^,]*(,[^=,\s]+=[^,]*)*$/, "must be name=value,name=value"),
    fallback: undefined,
    meaning: "headers for that receiver, `name=value,name=value`",
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, "must be from 0 to 1")
      .transform(Number),
    fallback: "1",
    meaning:
      "share of the traces that begin here that are kept; what a caller samples is kept always",
  },
} as const;

export function telemetryConfig(get: Get<typeof telemetrySettings>) {
  const headers = (get("OTEL_EXPORTER_OTLP_HEADERS") ?? "")
    .split(",")
    .filter(Boolean)
    .map((pair) => [
      pair.slice(0, pair.indexOf("=")),
      decodeURIComponent(pair.slice(pair.indexOf("=") + 1)),
    ]);
  return {
    endpoint: get("OTEL_EXPORTER_OTLP_ENDPOINT"),
    headers: Object.fromEntries(headers) as Record<string, string>,
    ratio: get("OTEL_TRACES_SAMPLER_ARG"),
  };
}

export type TelemetryConfig = ReturnType<typeof telemetryConfig>;
