import { ConfigError, readConfig } from "./config.ts";
import { DatabaseVersionError } from "./postgres/pools.ts";
import { onStop, reportReady } from "./process/lifecycle.ts";
import { tuneHeap } from "./process/heap.ts";
import { startWatchdog } from "./process/watchdog.ts";

// PostGraphile reads it when it is loaded; its development checks are not for applications.
process.env.GRAPHILE_ENV ??= "production";
tuneHeap();

try {
  const config = readConfig(process.env, ["server"]);
  const { startServer } = await import("./server/startServer.ts");
  const server = await startServer(config);
  startWatchdog("server", config.eventLoopTimeoutMs);
  reportReady({ url: server.url });
  onStop((reason) => server.stop(reason), {
    timeoutMs: (config.shutdownSeconds + 3) * 1000,
    env: process.env,
  });
} catch (error) {
  const isKnown = error instanceof ConfigError || error instanceof DatabaseVersionError;
  console.error(isKnown ? error.message : (inUse(error) ?? error));
  process.exit(1);
}

/** A readable message for a port that is in use. */
function inUse(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE")
    return undefined;
  return `PORT is in use by another program (${error.message}): set another one`;
}
