import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { runMigrations as migrateQueue } from "graphile-worker";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { ConfigError, readConfig } from "../src/config.ts";
import { poolFor } from "../src/database.ts";
import { isDatabaseError } from "../src/graphql/databaseErrors.ts";
import { BusyError, Refusal, RuleViolationError } from "./refusals.ts";
import { type Sources, readSources } from "./sources.ts";

type Log = (line: string) => void;
type Querier = Pick<pg.ClientBase, "query">;

const here = import.meta.dirname;

/** A schema's names are part of statements that cannot take parameters: nothing but these characters may stand in one. */
export const areaPattern = /^[a-z][a-z0-9_]{0,62}$/;

/**
 * How long a migration waits for a table in use. Whoever asks for the table meanwhile stands behind it: this must stay well
 * below the time that a request may take.
 */
const lockTimeoutMs = 3_000;
const attempts = 5;

/** What {@link migrateArea} works with beside the product's own files. */
export interface MigrateOptions {
  log?: Log;
  /** A folder whose `migrations` and `logic` follow the product's. */
  ownFolder?: string;
  /** Looks at the area as it has become; what it throws undoes everything. */
  check?: (client: pg.ClientBase, area: string) => Promise<void>;
}

/**
 * Brings one area, a schema with all of the application's tables, to the present state in one transaction: migrations that are
 * new, then logic, then reference data, then the rules of the house. Any failure leaves the area as it was.
 * The client must be able to act as `office_owner`. Areas can be made side by side; calls for the same one queue.
 * @throws RuleViolationError when a table, function, policy or grant breaks a rule.
 * @throws BusyError when others held the tables for too long, several times.
 */
export async function migrateArea(
  client: pg.ClientBase,
  area: string,
  options: MigrateOptions = {},
): Promise<void> {
  if (!areaPattern.test(area)) throw new Error(`"${area}" cannot be the name of a schema`);
  const { log = () => {} } = options;
  const sources = await readSources(options.ownFolder);
  for (let attempt = 1; ; attempt++)
    try {
      return await migrateOnce(client, area, sources, { ...options, log });
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === attempts)
        throw new BusyError(
          `Tables that the migrations change were in use ${attempts} times, nothing was changed: try again when there is less to do`,
          { cause: error },
        );
      log("Tables that the migrations change are in use: trying again");
      await setTimeout(attempt * 500);
    }
}

async function migrateOnce(
  client: pg.ClientBase,
  area: string,
  sources: Sources,
  { log, check }: MigrateOptions & { log: Log },
): Promise<void> {
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `migrate ${area}`,
    ]);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query("set local role office_owner");
    await client.query(`create schema if not exists "${area}" authorization office_owner`);
    await client.query(
      `grant usage on schema "${area}" to office_api, office_server, office_worker`,
    );
    for (const { folder, table } of sources.migrations) {
      await runner({
        // One transaction holds all of it, rules included, so the library's own must not end it.
        dbClient: withoutTransactions(client),
        dir: folder,
        ignorePattern: "\\..*|.*(?<!\\.sql)",
        direction: "up",
        migrationsTable: table,
        migrationsSchema: area,
        schema: [area, "extensions", "pg_temp"],
        singleTransaction: true,
        noLock: true,
        // Its list of what it is about to run is enough; it says each again.
        logger: { info: (line) => line.startsWith(">") && log(line), warn: log, error: log },
      });
      await client.query(
        `comment on table "${area}".${table} is '@internal\n@audit off because migrations keep this list\nThe migrations that this schema has.'`,
      );
    }
    await client.query(`set local search_path to "${area}", extensions, pg_temp`);
    for (const sql of [...sources.logic, ...sources.data]) await client.query(sql);
    const { rows } = await client.query<{ violation: string }>(
      "select v as violation from rule_violations() as v",
    );
    if (rows.length > 0) throw new RuleViolationError(rows.map((row) => row.violation));
    await check?.(client, area);
    // What the area was made of, by which a test run's that is older than the main one is known.
    await client.query(`comment on schema "${area}" is '${sources.stamp}'`);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    await client.query("reset role; reset search_path");
  }
}

/** Whether a lock could not be had in time, or only by ending another's wait for it. */
function isBusy(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "55P03" || error.code === "40P01");
}

function withoutTransactions(client: pg.ClientBase): pg.ClientBase {
  const quiet = Object.create(client) as pg.ClientBase;
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  quiet.query = ((...args: unknown[]) =>
    typeof args[0] === "string" && /^(begin|commit|rollback);?$/i.test(args[0])
      ? Promise.resolve({ rows: [] })
      : query(...args)) as pg.ClientBase["query"];
  return quiet;
}

/** What a database needs once: roles, shared schemas, extensions, the job queue. Needs an administrator; repeatable. */
export async function prepareDatabase(
  connectionString: string,
  log: Log = () => {},
): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(await readFile(join(here, "prepare.sql"), "utf8"));
    // The queue's own migrations begin with `create schema if not exists`, which asks for this right even when it exists.
    const database = pg.escapeIdentifier(client.database ?? "postgres");
    await client.query(`grant create on database ${database} to office_worker`);
    const pool = poolFor(connectionString, "office_worker", 1);
    try {
      await migrateQueue({ pgPool: pool });
    } finally {
      await pool.end();
      await client.query(`revoke create on database ${database} from office_worker`);
    }
    await client.query("set role office_worker");
    await client.query(await readFile(join(here, "jobs.sql"), "utf8"));
    log("The database is prepared");
  } finally {
    await client.end();
  }
}

/** Lets the server and the worker log in with the names and passwords that their own addresses hold. */
async function ensureLogins(
  client: Querier,
  urls: (string | undefined)[],
  log: Log,
): Promise<void> {
  for (const url of urls) {
    const { username, password } = url ? new URL(url) : { username: "", password: "" };
    if (username !== "office_server" && username !== "office_worker") continue;
    await client.query(
      `alter role ${username} login password ${pg.escapeLiteral(decodeURIComponent(password))}`,
    );
    log(`${username} can log in`);
  }
}

/**
 * Prepares the database and migrates one area with the given administrator's or owner's address. What a server could not
 * serve is refused here, before any server meets it.
 */
export async function migrate(
  options: {
    ownerUrl: string;
    area: string;
    ownFolder?: string;
    loginUrls?: (string | undefined)[];
  },
  log: Log,
): Promise<void> {
  // Loaded before the tables are locked, and not by servers, which make areas of a shape that they serve already.
  const { checkApi } = await import("./checkApi.ts");
  await prepareDatabase(options.ownerUrl, log);
  const client = new pg.Client({ connectionString: options.ownerUrl });
  await client.connect();
  try {
    await ensureLogins(client, options.loginUrls ?? [], log);
    await migrateArea(client, options.area, { log, ownFolder: options.ownFolder, check: checkApi });
  } finally {
    await client.end();
  }
}

if (import.meta.main) {
  try {
    const config = readConfig(process.env);
    if (!config.database.ownerUrl)
      throw new ConfigError([
        "DATABASE_OWNER_URL or DATABASE_URL must say which database to migrate",
      ]);
    await migrate(
      {
        ownerUrl: config.database.ownerUrl,
        area: config.database.schema ?? "backoffice",
        ownFolder: config.database.ownFolder,
        loginUrls: [config.database.url, config.database.workerUrl],
      },
      (line) => console.log(line),
    );
  } catch (error) {
    const known = error instanceof ConfigError || error instanceof Refusal;
    console.error(known ? error.message : error);
    process.exitCode = 1;
  }
}
