import type { TelemetryConfig } from "../settings/telemetry.ts";

/**
 * Starts tracing if a receiver is configured; otherwise its libraries are not loaded. To be called before pools are
 * created.
 */
export async function loadTracing(
  config: TelemetryConfig,
  process: "server" | "worker",
): Promise<void> {
  const { endpoint } = config;
  if (endpoint === undefined) return;
  const { startTracing } = await import("./startTracing.ts");
  startTracing({ ...config, endpoint }, process);
}
