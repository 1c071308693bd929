import type { TelemetryConfig } from "../settings/telemetry.ts";

/** Starts traces where a receiver is configured; nothing of them is loaded otherwise. Before any pool is made. */
export async function loadTracing(
  config: TelemetryConfig,
  process: "server" | "worker",
): Promise<void> {
  const { endpoint } = config;
  if (endpoint === undefined) return;
  const { startTracing } = await import("./startTracing.ts");
  startTracing({ ...config, endpoint }, process);
}
