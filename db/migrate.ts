import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { runMigrations as migrateQueue } from "graphile-worker";
import pg from "pg";
import { ConfigError, readConfig } from "../src/config.ts";
import { DatabaseVersionError, openClient, poolFor } from "../src/database.ts";
import { isOutage, outageText } from "../src/postgres/databaseErrors.ts";
import { migrationLock } from "../src/postgres/holdSchema.ts";
import { lettingIn, roleOfLogin } from "../src/postgres/logins.ts";
import { isPrintableAscii } from "../src/postgres/scramVerifier.ts";
import { environmentOfCommand } from "../src/settings/runningService.ts";
import { BusyError, Refusal } from "./refusals.ts";
import { isBusy, runSources } from "./runSources.ts";
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
const defaultAnswerMs = 3_600_000;

/** What {@link migrateArea} works with beside the product's own files. */
export interface MigrateOptions {
  log?: Log;
  /** A folder whose `migrations` and `logic` follow the product's. */
  ownFolder?: string;
  /** Leaves out what is for development only, such as the function that logs in without a password. */
  production?: boolean;
  /** Looks at the area as it has become; what it throws undoes everything. */
  check?: (client: pg.ClientBase, area: string) => Promise<void>;
  /** Leaves nothing behind in the end, as if a check had failed. */
  rehearse?: boolean;
  /** How often it tries where tables are in use. */
  attempts?: number;
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
  const { log = () => {}, attempts = 5 } = options;
  const sources = await readSources(options.ownFolder);
  for (let attempt = 1; ; attempt++)
    try {
      await migrateOnce(client, area, sources, options);
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (attempt === attempts)
        throw new BusyError(
          `Tables that the migrations change were in use at each of ${attempts} attempts, nothing was changed: try again when there is less to do`,
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
  { log = () => {}, check, rehearse = false, production = false }: MigrateOptions,
): Promise<void> {
  await client.query("begin");
  try {
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      migrationLock(area),
    ]);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query("set local role office_owner");
    await runSources(client, area, sources, log);
    // The server does not offer it there either; what is not there cannot be reached in another way.
    if (production)
      await client.query("drop function if exists dev_login(text, bytea, integer, integer)");
    await check?.(client, area);
    await client.query(rehearse ? "rollback" : "commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    await client.query("reset role; reset search_path");
  }
}

/** What a database needs once: roles, shared schemas, extensions, the job queue. Needs an administrator; repeatable. */
export async function prepareDatabase(
  connectionString: string,
  log: Log = () => {},
  answerMs = defaultAnswerMs,
): Promise<void> {
  const client = await openClient(connectionString, answerMs);
  try {
    // One at a time, until the connection ends: two that change the same rows of the catalogue at once would fail.
    await client.query("select pg_advisory_lock(hashtextextended('office.prepare', 0))");
    await client.query(await readFile(join(here, "prepare.sql"), "utf8"));
    // The queue's own migrations begin with `create schema if not exists`, which asks for this right even when it exists.
    const database = pg.escapeIdentifier(client.database ?? "postgres");
    await client.query(`grant create on database ${database} to office_worker`);
    const pool = poolFor(connectionString, "office_worker", 1, { answerMs });
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

/**
 * Lets the server and the worker log in with the names and passwords that their own addresses hold. The database is told verifiers of
 * the passwords: the passwords themselves could stand in its log. An address without one, as with certificates, changes none.
 * @throws Refusal where a password cannot be told so
 */
async function ensureLogins(
  client: Querier,
  urls: (string | undefined)[],
  log: Log,
): Promise<void> {
  for (const url of urls) {
    const address = url === undefined ? null : new URL(url);
    const login = decodeURIComponent(address?.username ?? "");
    const role = roleOfLogin(login);
    if (role === null) continue;
    const password = decodeURIComponent(address?.password ?? "");
    if (password !== "" && !isPrintableAscii(password))
      throw new Refusal(
        `The password of ${login} has other characters than printable ASCII: choose one without`,
      );
    await client.query(lettingIn(login, role, password));
    log(`${login} can log in`);
  }
}

/**
 * Prepares the database and migrates one area with the given administrator's or owner's address. What a server could not
 * serve is refused here, before any server meets it.
 * @throws Refusal when the files cannot be applied or no API can be made of them
 */
export async function migrate(
  options: {
    ownerUrl: string;
    area: string;
    /** How long the database may give no answer, in milliseconds. */
    answerMs?: number;
    ownFolder?: string;
    production?: boolean;
    loginUrls?: (string | undefined)[];
  },
  log: Log,
): Promise<void> {
  const { ownerUrl, area, answerMs = defaultAnswerMs, ownFolder, production } = options;
  await prepareDatabase(ownerUrl, log, answerMs);
  const client = await openClient(ownerUrl, answerMs);
  client.on("notice", ({ severity, message }) => {
    if (severity === "WARNING") log(`WARNING: ${message}`);
  });
  try {
    await ensureLogins(client, options.loginUrls ?? [], log);
    // Not among the servers' modules, which it needs all of.
    const { checkApi } = await import("./checkApi.ts");
    const { rows } = await client.query<{ made: boolean; stamp: string | null }>(
      `select to_regnamespace($1) is not null as made, obj_description(to_regnamespace($1), 'pg_namespace') as stamp`,
      [area],
    );
    // On an empty area, which nobody uses: what takes long or fails does so while no table is locked. A database that is new
    // has no servers to be spared.
    if (rows[0]?.made && rows[0].stamp !== (await readSources(ownFolder)).stamp)
      await migrateArea(client, `${area}_rehearsal`, {
        ownFolder,
        check: checkApi,
        rehearse: true,
      });
    await migrateArea(client, area, { log, ownFolder, production });
  } finally {
    await client.end();
  }
}

/**
 * The migrate command: migrates what the environment names, and says what it does and what is wrong.
 * @returns the exit code
 */
export async function runMigrateCommand(
  environment: NodeJS.ProcessEnv,
  say: { log: Log; error: (what: unknown) => void },
): Promise<number> {
  try {
    const config = readConfig(environment);
    if (!config.database.ownerUrl)
      throw new ConfigError([
        "DATABASE_OWNER_URL or DATABASE_URL must say which database to migrate, or npm start must run with the same DATA_DIR",
      ]);
    await migrate(
      {
        ownerUrl: config.database.ownerUrl,
        area: config.database.schema ?? "backoffice",
        answerMs: config.database.maintenanceTimeoutMs,
        ownFolder: config.database.ownFolder,
        production: config.production,
        loginUrls: [config.database.url, config.database.workerUrl],
      },
      say.log,
    );
    return 0;
  } catch (error) {
    const known =
      error instanceof ConfigError ||
      error instanceof Refusal ||
      error instanceof DatabaseVersionError;
    const away = isOutage(error) ? outageText("The database of the owner's address", error) : error;
    say.error(known ? error.message : away);
    return 1;
  }
}

if (import.meta.main) {
  process.env.GRAPHILE_ENV ??= "production";
  process.exitCode = await runMigrateCommand(environmentOfCommand(process.env), console);
}
