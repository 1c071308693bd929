import { readConfig } from "./config.ts";
import type { ConstantOverrides } from "./settings/constants.ts";
import { failureText } from "./errors/failureText.ts";
import { onStop, reportReady } from "./process/lifecycle.ts";
import { tuneHeap } from "./process/heap.ts";
import { startWatchdog } from "./process/watchdog.ts";

/**
 * Runs a server process until SIGTERM or SIGINT. It exits with 1 when it cannot start.
 * @param overrides constants that a test replaces
 */
export async function runServerProcess(
  env: NodeJS.ProcessEnv,
  overrides?: ConstantOverrides,
): Promise<void> {
  // PostGraphile's libraries read it when they are loaded: their extra checks are for their own developers.
  process.env.GRAPHILE_ENV ??= "production";
  tuneHeap();
  try {
    const config = readConfig(env, ["server"], overrides);
    const { startServer } = await import("./server/startServer.ts");
    const server = await startServer(config);
    startWatchdog("server", config.eventLoopTimeoutMs);
    reportReady({ url: server.url });
    onStop((reason) => server.stop(reason), {
      timeoutMs: (config.shutdownSeconds + 3) * 1000,
      env,
    });
  } catch (error) {
    console.error(inUse(error) ?? failureText(error));
    process.exit(1);
  }
}

/** The message for a port in use; undefined for other errors. */
function inUse(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE")
    return undefined;
  return `PORT is in use by another program (${error.message}): set another one`;
}

if (import.meta.main) await runServerProcess(process.env);
