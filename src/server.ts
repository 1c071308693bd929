import { ConfigError, readConfig } from "./config.ts";

// Read by PostGraphile's libraries as they are loaded, hence set before they are: their extra checks are for its own developers.
process.env.GRAPHILE_ENV ??= "production";

try {
  const config = readConfig(process.env, ["server"]);
  // A prepared statement keeps the types of the schema in which it was parsed. Test runs have schemas of their own on the same
  // connections, so that theirs are parsed each time.
  if (config.testMode) process.env.DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE = "0";
  const { startServer } = await import("./startServer.ts");
  await startServer(config);
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : (inUse(error) ?? error));
  process.exit(1);
}

/** The likeliest reason why a server cannot listen, in words. */
function inUse(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE")
    return undefined;
  return `PORT is in use by another program (${error.message}): set another one`;
}
