import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../db/migrate.ts";
import type { EmbeddedPostgres } from "../../dev/emulators/postgres.ts";
import { startEmbeddedPostgres } from "../../dev/emulators/postgres.ts";
import { clusterFolder } from "../../dev/emulators/postgresCluster.ts";
import { type TestDatabase, mainSchemaPool } from "./database.ts";

/** A PostgreSQL server of a test's own, migrated, which can be stopped without disturbing other tests. */
export interface Cluster {
  database: TestDatabase;
  /** Where PostgreSQL's own files are. */
  files(): string;
  /** Ends it as a crash does: all connections are cut, nothing is finished. */
  stopAtOnce(): Promise<void>;
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
    startEmbeddedPostgres({
      dataDir: folder,
      log: () => {},
      postgresFlags: [...clusterFlags],
      databaseName: "office",
      ...(port === undefined ? {} : { port }),
    });
  let server: EmbeddedPostgres = await launch();
  let running: EmbeddedPostgres | null = server;
  const watch = (current: EmbeddedPostgres) => {
    running = current;
    void current.ended.then(() => {
      if (running === current) running = null;
    });
  };
  watch(server);
  const { url, port } = server;
  await migrate({ ownerUrl: url, area: "backoffice" }, () => {});
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
