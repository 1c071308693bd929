import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMigrations as migrateQueue } from "graphile-worker";
import pg from "pg";
import { openClient, poolFor } from "../src/postgres/pools.ts";
import { lettingIn, roleOfLogin } from "../src/postgres/logins.ts";
import { isPrintableAscii } from "../src/postgres/scramVerifier.ts";
import { Refusal } from "./refusals.ts";

type Log = (line: string) => void;
type Querier = Pick<pg.ClientBase, "query">;

const here = import.meta.dirname;

/** How long the database may give no answer where no setting says it. */
export const defaultAnswerMs = 3_600_000;

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
 * Lets the server and the worker log in with the names and passwords that their own addresses hold. The database gets verifiers of
 * the passwords: the passwords themselves could stand in its log. An address without one, as with certificates, changes none.
 * @throws Refusal where a password cannot be told so
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
    await client.query(lettingIn(login, role, password));
    log(`${login} can log in`);
  }
}
