import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestDatabase } from "./database.ts";
import { programPath } from "./environment.ts";
import { freePort } from "./http.ts";
import { waitFor } from "./waitFor.ts";

/** A PgBouncer in transaction mode before a database. */
export interface Pooler {
  /** The environment with which a server connects through it. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

const password = "for-tests";

/** Whether PgBouncer is installed. Tests that need it are skipped with a message. */
export function hasPooler(): boolean {
  return spawnSync("pgbouncer", ["--version"], { env: { PATH: programPath } }).status === 0;
}

/**
 * Starts PgBouncer. It rejects `role` as a startup parameter, so the server's role gets a login.
 * Roles belong to the whole server, so `database` must be on a separate one.
 * @param target the database URL behind the pooler
 * @param poolSize the maximum number of connections to the database
 */
export async function startPooler(
  database: TestDatabase,
  target: string,
  poolSize: number,
): Promise<Pooler> {
  await enableLogin(database.url);
  const { url, stop } = await launch(target, new URL(target).pathname.slice(1), poolSize);
  return { env: { DATABASE_URL: url, ...poolerSettings }, stop };
}

/**
 * Starts PgBouncer for every database of a server, with a login as in {@link startPooler}. `url` names the given
 * database.
 */
export async function startPoolerForAll(
  target: string,
  poolSize: number,
): Promise<{ url: string; stop: () => Promise<void> }> {
  await enableLogin(target);
  return launch(target, "*", poolSize);
}

/** Settings of a server behind PgBouncer: no named prepared statements. */
export const poolerSettings = { DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE: "0" };

async function enableLogin(superuser: string): Promise<void> {
  const client = new pg.Client({ connectionString: superuser });
  await client.connect();
  await client.query(`alter role office_server login password '${password}'`);
  await client.end();
}

async function launch(
  target: string,
  name: string,
  poolSize: number,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "pooler-"));
  await chmod(folder, 0o755);
  const port = await freePort();
  const behind = new URL(target);
  await writeFile(join(folder, "users.txt"), `"office_server" "${password}"\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
${name} = host=${behind.hostname} port=${behind.port}${name === "*" ? "" : ` dbname=${name}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 2000
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`,
  );
  const child: ChildProcess = spawn("pgbouncer", [join(folder, "pgbouncer.ini")], {
    env: { PATH: programPath },
    stdio: ["ignore", "ignore", "pipe"],
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}),
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  url.username = "office_server";
  url.password = password;
  await waitFor("the pooler to accept connections", async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer exited: ${stderr}`);
    const client = new pg.Client({ connectionString: url.href });
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return {
    url: url.href,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, "exit");
        // SIGTERM ends it immediately, even with connected clients.
        child.kill("SIGTERM");
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}
