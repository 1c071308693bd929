import pg from "pg";
import { noteDiskFull } from "../health/diskFull.ts";
import { isDiskFull } from "../errors/databaseErrors.ts";
import { limitResponseTime } from "./limitResponseTime.ts";
import { roleOfLogin } from "./logins.ts";
import { wireOf } from "./wire.ts";
import { traceSql } from "../telemetry/traceSql.ts";
import { tracing } from "../telemetry/tracing.ts";

const oldestMajorVersion = 18;
/** How long a look at a database may take, in milliseconds. */
const lookMs = 10_000;
/** An idle connection whose other end is gone without a word ends this much later, in milliseconds. */
const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** The database is older than this service supports. */
export class DatabaseVersionError extends Error {
  override name = "DatabaseVersionError";
}

/**
 * Opens a connection outside of any pool; the caller ends it. `answerMs` as in {@link poolFor}.
 * @throws DatabaseVersionError
 */
export async function openClient(connectionString: string, answerMs: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: lookMs,
    ...keepAlive,
  });
  client.on("error", ignore);
  try {
    await client.connect();
    limitResponseTime(client, answerMs);
    await checkVersion(client);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function checkVersion(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: string }>(
    "select current_setting('server_version') as version",
  );
  const version = rows[0]?.version ?? "";
  if (!(Number.parseInt(version, 10) >= oldestMajorVersion))
    throw new DatabaseVersionError(
      `PostgreSQL ${version} is too old: this service needs PostgreSQL ${oldestMajorVersion} or newer`,
    );
}

/**
 * To be called before a connection takes a role: an older database may not have the role, and would refuse it without a version.
 * @throws DatabaseVersionError
 */
export async function requireSupportedVersion(url: string): Promise<void> {
  const client = await openClient(url, lookMs);
  await client.end();
}

/**
 * A pool whose connections act as `role`. Logins of the role act as it by themselves; one of another name, such as the one
 * administrator of a development machine, takes the role as it connects and must be allowed to. `max` counts connections;
 * one on which the database owes an answer for `answerMs` is given up.
 *
 * Connections that break, idle or in use, never end the process: whoever uses one next gets the error.
 */
export function poolFor(
  url: string,
  role: string,
  max: number,
  { answerMs, ...settings }: pg.PoolConfig & { answerMs: number },
): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
    application_name: role,
    ...settings,
    connectionString: asRole(url, role),
    max,
  });
  if (tracing()) traceSql(pool);
  pool.on("error", ignore);
  pool.on("connect", (client) => {
    client.on("error", ignore);
    limitResponseTime(client, answerMs);
    watchDisk(client);
  });
  return pool;
}

/** Notes each disk-full error of a connection, of queries and copies alike. */
function watchDisk(client: pg.ClientBase): void {
  wireOf(client).connection.on("errorMessage", (error: pg.DatabaseError) => {
    if (isDiskFull(error)) noteDiskFull("database");
  });
}

/** The error reaches the user of the connection as well; without a listener it would end the process. */
function ignore(): void {
  return;
}

function asRole(url: string, role: string): string {
  const address = new URL(url);
  const login = decodeURIComponent(address.username);
  if (login === role || roleOfLogin(login) === role) return url;
  // In the address, since what stands there goes before the pool's own `options`.
  const options = [address.searchParams.get("options"), `-c role=${role}`];
  address.searchParams.set("options", options.filter(Boolean).join(" "));
  return address.href;
}
