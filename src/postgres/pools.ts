import pg from "pg";
import { recordDiskFull } from "../health/diskFull.ts";
import { isDiskFull } from "../errors/databaseErrors.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { limitResponseTime } from "./limitResponseTime.ts";
import { roleOfLogin } from "./logins.ts";
import { wireOf } from "./wire.ts";
import { traceSql } from "../telemetry/traceSql.ts";
import { tracing } from "../telemetry/tracing.ts";

const oldestMajorVersion = 18;
/** Time limit of the version check, in milliseconds. */
const checkTimeoutMs = 10_000;
/** TCP keep-alive, so that an idle connection notices a lost peer; in milliseconds. */
const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** The database is older than this service supports. */
export class DatabaseVersionError extends OperatorError {
  override name = "DatabaseVersionError";
}

/**
 * Opens a connection outside of pools; the caller ends it. `responseTimeoutMs` as in {@link poolFor}.
 * @throws DatabaseVersionError
 */
export async function openClient(
  connectionString: string,
  responseTimeoutMs: number,
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: checkTimeoutMs,
    ...keepAlive,
  });
  client.on("error", ignore);
  try {
    await client.connect();
    limitResponseTime(client, responseTimeoutMs);
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
 * Must run before a connection takes a role: an older database may lack the role and reject it without naming its
 * version.
 * @throws DatabaseVersionError
 */
export async function requireSupportedVersion(url: string): Promise<void> {
  const client = await openClient(url, checkTimeoutMs);
  await client.end();
}

/**
 * A pool whose connections act as `role`. Logins of the role act as it; another login, such as a development
 * administrator, switches to the role and must be allowed to. `max` limits connections; one without a response for
 * `responseTimeoutMs` is destroyed.
 *
 * Broken connections never end the process: the next user gets the error.
 */
export function poolFor(
  url: string,
  role: string,
  max: number,
  { responseTimeoutMs, ...settings }: pg.PoolConfig & { responseTimeoutMs: number },
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
    limitResponseTime(client, responseTimeoutMs);
    watchDisk(client);
  });
  return pool;
}

/** Records each disk-full error of a connection, from queries and copies. */
function watchDisk(client: pg.ClientBase): void {
  wireOf(client).connection.on("errorMessage", (error: pg.DatabaseError) => {
    if (isDiskFull(error)) recordDiskFull("database");
  });
}

/** The user of the connection gets the error as well; without a listener it would end the process. */
function ignore(): void {
  return;
}

function asRole(url: string, role: string): string {
  const address = new URL(url);
  const login = decodeURIComponent(address.username);
  if (login === role || roleOfLogin(login) === role) return url;
  // In the URL, since its options override those of the pool.
  const options = [address.searchParams.get("options"), `-c role=${role}`];
  address.searchParams.set("options", options.filter(Boolean).join(" "));
  return address.href;
}
