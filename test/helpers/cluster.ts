import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../db/migrate.ts";
import type { LocalPostgres } from "../../dev/emulators/postgres.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { clusterFolder } from "../../dev/emulators/postgresCluster.ts";
import { type TestDatabase, mainSchemaPool } from "./database.ts";
import { waitFor } from "./waitFor.ts";

/** A PostgreSQL server of a test's own, migrated, which can be stopped without disturbing other tests. */
export interface Cluster {
  database: TestDatabase;
  /** Where PostgreSQL's own files are. */
  files(): string;
  /** Ends it as a crash does: all connections are cut, nothing is finished. */
  stopAtOnce(): Promise<void>;
  /** Kills its first process, without a word to the others, and waits until these have noticed. */
  kill(): Promise<void>;
  /** Kills a process that serves a connection: the server then ends all of them and recovers by itself. */
  killBackend(): Promise<void>;
  /** Starts it again at the same port, with what was committed. */
  start(): Promise<void>;
  /** Whether it runs: not where it was stopped, and not where it ended by itself. */
  runs(): boolean;
}

/** What was committed must outlive the server here, but not a power cut. */
export const clusterFlags = ["-c", "fsync=off", "-c", "max_connections=120"] as const;

/** @param dataDir where its files go, such as a small disk; by default a folder of the temporary ones */
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
    async stopAtOnce() {
      process.kill(server.pid, "SIGQUIT");
      await server.ended;
      // Gives the folder back, for the next start.
      await server.stop();
    },
    async kill() {
      const children = await childrenOf(server.pid);
      process.kill(server.pid, "SIGKILL");
      await server.ended;
      // As long as one of them is left, no server starts on these files.
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
      // Gives the folder back where it ended by itself.
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
