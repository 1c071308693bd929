import { join } from "node:path";

/** The PATH of the test run, the only variable that started processes inherit. */
export const programPath = process.env.PATH ?? "";

/** The full environment, because npm reads its cache, registry and proxies from it. */
export const npmEnvironment = { ...process.env, npm_config_prefer_offline: "true" };

/** Shares compiled code between the Node processes that tests start. */
export const compileCache = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/compile"),
};

/** Superuser URL of the tests' PostgreSQL; the global setup sets it. */
export const testDatabaseUrl = process.env.TEST_DATABASE_URL ?? "";

/** Port of this Jest worker's server host; the global setup starts one per worker. */
export const serverHostPort = Number(
  process.env.TEST_SERVER_HOSTS?.split(",")[Number(process.env.JEST_WORKER_ID ?? 1) - 1],
);

/** How many times the fault tests kill a worker; `npm run test:faults` uses 100. */
export const faultKills = Number(process.env.FAULT_KILLS ?? 6);

/**
 * Folder of the published SpreadsheetML schemas (`sml.xsd` and its includes), which this repository does not
 * contain; empty without.
 */
export const xlsxSchemas = process.env.XLSX_SCHEMAS ?? "";
/** Typesense's published OpenAPI description (YAML), which this repository does not contain; empty without. */
export const typesenseDescription = process.env.TYPESENSE_OPENAPI ?? "";
/**
 * The Typesense server that replaces the emulator in search tests; null without one. The global setup reads its
 * version.
 */
export const realSearchEngine =
  process.env.TYPESENSE_URL && process.env.TYPESENSE_API_KEY
    ? {
        url: process.env.TYPESENSE_URL,
        apiKey: process.env.TYPESENSE_API_KEY,
        version: process.env.TYPESENSE_VERSION ?? "",
      }
    : null;

/** Path of a Chromium that replaces the packaged one; empty for the packaged one. */
export const consoleBrowser = process.env.CONSOLE_BROWSER ?? "";

/** Whether journeys write screenshots to `docs/images`. */
export const shouldWriteScreenshots = process.env.SCREENSHOTS === "1";

/** Seed of the random operations in the fault tests; a failing test prints it. */
export const faultSeed = process.env.FAULT_SEED ?? "vintage";

/** Number of requests of different users over two connections; `npm run test:faults` sends 10,000. */
export const mixedRequests = Number(process.env.FAULT_REQUESTS ?? 2_000);

/** Length of the longest database outage in the fault tests, in seconds; 120 is the thorough setting. */
export const longOutageSeconds = Number(process.env.FAULT_OUTAGE_SECONDS ?? 30);

/**
 * URL of a PgBouncer before the tests' PostgreSQL, for the server's login role; empty without.
 * With TEST_PGBOUNCER=1 the global setup starts one, and all test servers connect through it.
 */
export const testPoolerUrl = process.env.TEST_POOLER_URL ?? "";

/** The expected `X-Answered-By` header: `by`, or null when the run disables the SQL-JSON path. */
export function answeredBy<T>(by: T): T | null {
  return process.env["SQL_JSON"] === "off" ? null : by;
}
