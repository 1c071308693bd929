import { join } from "node:path";

/** The search path for programs, which is all that started processes inherit. */
export const programPath = process.env.PATH ?? "";

/** For npm, whose cache, registry and proxies are settings of the machine. */
export const npmEnvironment = { ...process.env, npm_config_prefer_offline: "true" };

/** For processes that tests start: what Node compiled once is not compiled by each of them again. */
export const compileCache = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/compile"),
};

/** The address of the tests' PostgreSQL, for its superuser; the global set-up provides it. */
export const testDatabaseUrl = process.env.TEST_DATABASE_URL ?? "";

/** The port of the process in which this worker of jest has its servers; the global set-up starts one for each. */
export const serverHostPort = Number(
  process.env.TEST_SERVER_HOSTS?.split(",")[Number(process.env.JEST_WORKER_ID ?? 1) - 1],
);

/** How often the fault tests kill a worker; `npm run test:faults` asks for a hundred times. */
export const faultKills = Number(process.env.FAULT_KILLS ?? 6);

/** The folder of the published schemas of SpreadsheetML (`sml.xsd` and what it includes), which are not ours to give; empty without. */
export const xlsxSchemas = process.env.XLSX_SCHEMAS ?? "";
/** The description of Typesense's API that its makers publish (OpenAPI, YAML), which is not ours to give; empty without. */
export const typesenseDescription = process.env.TYPESENSE_OPENAPI ?? "";
/**
 * The Typesense server that the search tests use instead of the emulator; null without one. The global set-up asks it for its version.
 */
export const realSearchEngine =
  process.env.TYPESENSE_URL && process.env.TYPESENSE_API_KEY
    ? {
        url: process.env.TYPESENSE_URL,
        apiKey: process.env.TYPESENSE_API_KEY,
        version: process.env.TYPESENSE_VERSION ?? "",
      }
    : null;

/** Another browser for the tests, the path of a Chromium; empty for the one that comes with the packages. */
export const consoleBrowser = process.env.CONSOLE_BROWSER ?? "";

/** Whether journeys keep pictures of pages in `docs/images`. */
export const keepsScreenshots = process.env.SCREENSHOTS === "1";

/** From which the clients of the fault tests make what they do; a failing test names it. */
export const faultSeed = process.env.FAULT_SEED ?? "vintage";

/** How many requests of different people go over two connections; `npm run test:faults` sends 10,000. */
export const mixedRequests = Number(process.env.FAULT_REQUESTS ?? 2_000);

/** How long the database is away in the longest of the fault tests, in seconds; they take 120 where time does not matter. */
export const longOutageSeconds = Number(process.env.FAULT_OUTAGE_SECONDS ?? 30);

/**
 * A PgBouncer before the tests' PostgreSQL, as a login of the server's role; empty without. With TEST_PGBOUNCER=1 the global set-up
 * starts one, and all servers of the tests reach their databases through it.
 */
export const testPoolerUrl = process.env.TEST_POOLER_URL ?? "";

/** What the header `X-Answered-By` says: the path `by`, or nothing where the run switches the SQL-JSON path off. */
export function answeredBy<T>(by: T): T | null {
  return process.env["SQL_JSON"] === "off" ? null : by;
}
