import { ConfigError, readConfig } from "./config.ts";

// Read by PostGraphile's libraries as they are loaded, hence set before they are: their extra checks are for its own developers.
process.env.GRAPHILE_ENV ??= "production";

try {
  const config = readConfig(process.env);
  const { startServer } = await import("./startServer.ts");
  await startServer(config);
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
