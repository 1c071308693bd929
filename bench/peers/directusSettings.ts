import { mkdirSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import "./loopbackOnly.ts";

// Must be imported before Directus, which reads its settings when it is loaded.

/** The package of Directus' modules, which are published without types. */
export const api = "@directus/api";

// Beside its packages, so that nothing is left behind elsewhere.
const folder = join(import.meta.dirname, "node_modules/.directus");
for (const name of ["extensions", "uploads"]) mkdirSync(join(folder, name), { recursive: true });

Object.assign(process.env, {
  // Ignores a .env file, extensions and migrations in the current folder.
  CONFIG_PATH: join(folder, "none.json"),
  EXTENSIONS_PATH: join(folder, "extensions"),
  MIGRATIONS_PATH: join(folder, "migrations"),
  STORAGE_LOCAL_ROOT: join(folder, "uploads"),
  TEMP_PATH: join(folder, "temp"),
  DB_CLIENT: "pg",
  DB_CONNECTION_STRING: process.argv.at(-1),
  DB_POOL__MIN: "0",
  DB_POOL__MAX: "10",
  SECRET: crypto.randomUUID(),
  // No cached answers; its caches of the schema and of rights stay on.
  CACHE_ENABLED: "false",
  // The cached schema is frozen instead of copied for each request.
  CACHE_SCHEMA_FREEZE_ENABLED: "true",
  // No limits on queries.
  RATE_LIMITER_ENABLED: "false",
  PRESSURE_LIMITER_ENABLED: "false",
  QUERY_LIMIT_DEFAULT: "-1",
  // Disables unused features.
  SERVE_APP: "false",
  WEBSOCKETS_ENABLED: "false",
  WEBSOCKETS_LOGS_ENABLED: "false",
  AI_ENABLED: "false",
  MCP_ENABLED: "false",
  METRICS_ENABLED: "false",
  EMAIL_VERIFY_SETUP: "false",
  PROJECT_OWNER_ENABLED: "false",
  TELEMETRY: "false",
});

// Scripts of flows and extensions, of which there are none, run in this native module, which does not compile for Node 24.
const none = "peers:isolated-vm";
export const withoutScripts = registerHooks({
  resolve: (name, context, next) =>
    name === "isolated-vm"
      ? { url: none, format: "commonjs", shortCircuit: true }
      : next(name, context),
  load: (url, context, next) =>
    url === none ? { source: "", format: "commonjs", shortCircuit: true } : next(url, context),
});
