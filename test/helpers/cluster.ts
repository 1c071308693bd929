import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../src/migration/migrate.ts";
import type { LocalPostgres } from "../../dev/emulators/postgres.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { clusterFolder } from "../../dev/emulators/postgresCluster.ts";
import { type TestDatabase, mainSchemaPool } from "./database.ts";
import { waitFor } from "./waitFor.ts";

/** A migrated PostgreSQL server for one test, which can stop without affecting other tests. */
export interface Cluster {
  database: TestDatabase;
  /** The data directory. */
  files(): string;
  /** Immediate shutdown (SIGQUIT): cuts all connections and writes no checkpoint. */
  stopImmediately(): Promise<void>;
  /** Kills the postmaster with SIGKILL and waits until its child processes exit. */
  kill(): Promise<void>;
  /** Kills a backend with SIGKILL; the server then restarts all backends and recovers. */
  killBackend(): Promise<void>;
  /** Starts it again at the same port with the committed data. */
  start(): Promise<void>;
  /** False after a stop or an unexpected exit. */
  runs(): boolean;
}

/** With fsync off, committed data survives a server crash but not a power failure. */
export const clusterFlags = ["-c", "fsync=off", "-c", "max_connections=120"] as const;

/** @param dataDir the data directory, for example on a small disk; a temporary folder by default */
export async function startCluster(dataDir?: string): Promise<Cluster> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), "cluster-")));
  const launch = (port?: number) =>
    startLocalPostgres({
      dataDir: folder,
      log: () => {},
      postgresFlags: [...clusterFlags],
      databaseName: "office",
      ...(port === undefined ? {} : { port }),
    });
  let server: LocalPostgres = await launch();
  let running: LocalPostgres | null = server;
  const watch = (current: LocalPostgres) => {
    running = current;
    void current.ended.then(() => {
      if (running === current) running = null;
    });
  };
  watch(server);
  const { url, port } = server;
  await migrate({ ownerUrl: url, tenant: "backoffice" }, () => {});
  const pool = mainSchemaPool(url, 5);
  return {
    database: {
      url,
      pool,
      async drop() {
        await pool.end();
        await server.stop();
        await rm(server.folder, { recursive: true, force: true, maxRetries: 5 });
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    },
    async stopImmediately() {
      process.kill(server.pid, "SIGQUIT");
      await server.ended;
      // Releases the folder for the next start.
      await server.stop();
    },
    async kill() {
      const children = await childrenOf(server.pid);
      process.kill(server.pid, "SIGKILL");
      await server.ended;
      // PostgreSQL refuses to start on these files while a child process is left.
      await waitFor("the server's processes to end", () => !children.some(isAlive));
      await server.stop();
    },
    async killBackend() {
      const { rows } = await pool.query<{ pid: number }>(
        "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by state_change desc limit 1",
      );
      if (rows[0]) process.kill(rows[0].pid, "SIGKILL");
    },
    async start() {
      // Releases the folder if the server exited by itself.
      await server.stop();
      server = await launch(port);
      watch(server);
    },
    files: () => clusterFolder(server),
    runs: () => running !== null,
  };
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
