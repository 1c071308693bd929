import type { GetSetting } from "./types.ts";
import { baseUrl } from "./types.ts";

export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: baseUrl,
    fallback: undefined,
    meaning:
      "address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`, that traces are sent to; without it no tracing code is loaded",
  },
} as const;

export function telemetryConfig(get: GetSetting<typeof telemetrySettings>) {
  return { endpoint: get("OTEL_EXPORTER_OTLP_ENDPOINT") };
}

export type TelemetryConfig = ReturnType<typeof telemetryConfig>;
