import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations as migrateQueue } from "graphile-worker";
import pg from "pg";
import { openClient, poolFor } from "../postgres/pools.ts";
import { enableLoginSql, roleOfLogin, successorsOf } from "../postgres/logins.ts";
import { isPrintableAscii } from "../postgres/scramVerifier.ts";
import { Refusal } from "./refusals.ts";
import { explainFailures } from "./runSources.ts";
import type { SqlFile } from "./sources.ts";

type Log = (line: string) => void;
type Querier = Pick<pg.ClientBase, "query">;

const sqlFolder = join(import.meta.dirname, "../../db");

/** The default response timeout in milliseconds. */
export const defaultResponseTimeoutMs = 3_600_000;

/**
 * Creates roles, shared schemas, extensions and the job queue. Needs an administrator; can be repeated.
 * @param options.own the deployment's own extensions and roles
 * @throws Refusal with file and line when a statement of `own` fails
 */
export async function prepareDatabase(
  connectionString: string,
  options: { log?: Log; responseTimeoutMs?: number; own?: SqlFile | undefined } = {},
): Promise<void> {
  const { log = () => {}, responseTimeoutMs = defaultResponseTimeoutMs, own } = options;
  const client = await openClient(connectionString, responseTimeoutMs);
  try {
    // Serialized until the connection ends, because concurrent changes of the same catalogue rows fail.
    await client.query("select pg_advisory_lock(hashtextextended('office.prepare', 0))");
    await client.query(await readFile(join(sqlFolder, "prepare.sql"), "utf8"));
    if (own) await runOwn(client, own);
    // The queue's own migrations run `create schema if not exists`, which needs this privilege even when the schema
    // exists.
    const database = pg.escapeIdentifier(client.database ?? "postgres");
    await client.query(`grant create on database ${database} to office_worker`);
    const pool = poolFor(connectionString, "office_worker", 1, { responseTimeoutMs });
    try {
      await migrateQueue({ pgPool: pool });
    } finally {
      await pool.end();
      await client.query(`revoke create on database ${database} from office_worker`);
    }
    await client.query("set role office_worker");
    await client.query(await readFile(join(sqlFolder, "jobs.sql"), "utf8"));
    log("The database is prepared");
  } finally {
    await client.end();
  }
}

/** Runs the deployment's file in one transaction. What names no schema is created in `extensions`. */
async function runOwn(client: pg.Client, file: SqlFile): Promise<void> {
  await client.query("begin; set local search_path to extensions, pg_temp");
  try {
    await explainFailures(client, { file, text: file.text }, () => client.query(file.text));
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/**
 * Creates the logins of the server and the worker from their connection addresses. Sends SCRAM verifiers, because
 * passwords could appear in the database's log. An address without a password, as with certificates, changes none.
 * @throws Refusal when no verifier can be computed for a password, or a rotation has ended the login
 */
export async function ensureLogins(
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
    const { rows } = await client.query<{ isEnded: boolean }>(
      'select not rolcanlogin as "isEnded" from pg_roles where rolname = $1',
      [login],
    );
    const newer = rows[0]?.isEnded ? await successorsOf(client, login, role) : [];
    if (newer.length > 0)
      throw new Refusal(
        `A rotation has replaced ${login} by ${newer.join(" and ")} and ended it: give the new address to db:migrate`,
      );
    await client.query(enableLoginSql(login, role, password));
    log(`${login} can log in`);
  }
}
