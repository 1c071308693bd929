import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations as migrateQueue } from "graphile-worker";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { ConfigError, readConfig } from "../src/config.ts";
import { poolFor } from "../src/database.ts";

type Log = (line: string) => void;
type Querier = Pick<pg.ClientBase, "query">;

const here = import.meta.dirname;

/** A schema's names are part of statements that cannot take parameters: nothing but these characters may stand in one. */
export const areaPattern = /^[a-z][a-z0-9_]{0,62}$/;

/** The migrated schema breaks rules of the house; the message lists each with what to do. Nothing was changed. */
export class RuleViolationError extends Error {
  override name = "RuleViolationError";
  readonly violations: readonly string[];

  constructor(violations: readonly string[]) {
    super(
      `The schema breaks ${violations.length} rule(s), nothing was changed:\n  - ${violations.join("\n  - ")}`,
    );
    this.violations = violations;
  }
}

async function sqlFiles(folder: string): Promise<string[]> {
  const names = (await readdir(join(here, folder))).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(names.map((name) => readFile(join(here, folder, name), "utf8")));
}

/**
 * Brings one area, a schema with all of the application's tables, to the present state in one transaction: migrations that are
 * new, then logic, then reference data, then the rules of the house. Any failure leaves the area as it was.
 * The client must be able to act as `office_owner`. Areas can be made side by side; calls for the same one queue.
 * @throws RuleViolationError when a table, function, policy or grant breaks a rule.
 */
export async function migrateArea(
  client: pg.ClientBase,
  area: string,
  log: Log = () => {},
): Promise<void> {
  if (!areaPattern.test(area)) throw new Error(`"${area}" cannot be the name of a schema`);
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `migrate ${area}`,
    ]);
    await client.query("set local role office_owner");
    await client.query(`create schema if not exists "${area}" authorization office_owner`);
    await client.query(
      `grant usage on schema "${area}" to office_api, office_server, office_worker`,
    );
    await runner({
      // One transaction holds all of it, rules included, so the library's own must not end it.
      dbClient: withoutTransactions(client),
      dir: join(here, "migrations"),
      direction: "up",
      migrationsTable: "schema_migrations",
      migrationsSchema: area,
      schema: [area, "extensions", "pg_temp"],
      singleTransaction: true,
      noLock: true,
      // Its list of what it is about to run is enough; it says each again.
      logger: { info: (line) => line.startsWith(">") && log(line), warn: log, error: log },
    });
    await client.query(`set local search_path to "${area}", extensions, pg_temp`);
    await client.query(
      "comment on table schema_migrations is '@internal\n@audit off because migrations keep this list\nThe migrations that this schema has.'",
    );
    for (const sql of await sqlFiles("logic")) await client.query(sql);
    for (const sql of await sqlFiles("data")) await client.query(sql);
    const { rows } = await client.query<{ violation: string }>(
      "select v as violation from rule_violations() as v",
    );
    if (rows.length > 0) throw new RuleViolationError(rows.map((row) => row.violation));
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    await client.query("reset role; reset search_path");
  }
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

/** Prepares the database and migrates one area with the given administrator's or owner's address. */
export async function migrate(
  options: { ownerUrl: string; area: string; loginUrls?: (string | undefined)[] },
  log: Log,
): Promise<void> {
  await prepareDatabase(options.ownerUrl, log);
  const client = new pg.Client({ connectionString: options.ownerUrl });
  await client.connect();
  try {
    await ensureLogins(client, options.loginUrls ?? [], log);
    await migrateArea(client, options.area, log);
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
        loginUrls: [config.database.url, config.database.workerUrl],
      },
      (line) => console.log(line),
    );
  } catch (error) {
    const known = error instanceof ConfigError || error instanceof RuleViolationError;
    console.error(known ? error.message : error);
    process.exitCode = 1;
  }
}
