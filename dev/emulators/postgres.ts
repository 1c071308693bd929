import { rm } from "node:fs/promises";
import path from "node:path";
import pg from "pg";
import { lockFolder } from "./folderLock.ts";
import { ensureCluster, stopLeftoverServer } from "./postgresCluster.ts";
import { choosePlace } from "./postgresPlace.ts";
import { endServer, launchServer } from "./postgresServer.ts";

/** Options of a local PostgreSQL server. */
export interface LocalPostgresOptions {
  /** The folder for the database, its password and its log; created when missing. */
  dataDir: string;
  /** Receives messages, one line each. PostgreSQL writes its log to `postgres.log` in the folder. */
  log: (line: string) => void;
  /** A fixed port; by default a free one. */
  port?: number;
  /** The database that `url` names, created when missing. Default `postgres`. */
  databaseName?: string;
  /** Further command-line arguments of PostgreSQL, such as `-c`, `work_mem=8MB`. */
  postgresFlags?: string[];
  /** For tests: data may be lost in a crash of the machine, and `stop` removes the folder. */
  ephemeral?: boolean;
}

/** A running local PostgreSQL server. */
export interface LocalPostgres {
  /** For the superuser. Contains the password: do not log it. */
  url: string;
  port: number;
  pid: number;
  /** The actual folder, which may differ from `dataDir` when this process is root. */
  folder: string;
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>;
  /** Stops the server and waits for its end. Further calls share the first one. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL server that is used without DATABASE_URL.
 *
 * It listens on 127.0.0.1 only and asks for a password. The next start finds the data again. When this process ends
 * without `stop`, even by SIGKILL, a guard process shuts the server down.
 *
 * @throws when another process uses the folder, when its data has another major version, when a fixed port is
 * taken, and when the server is not ready within two minutes
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  const ephemeral = options.ephemeral ?? false;
  const place = await choosePlace(path.resolve(options.dataDir), ephemeral);
  const unlock = lockFolder(place.folder);
  try {
    const password = await ensureCluster(place, { log: options.log, sync: !ephemeral });
    await stopLeftoverServer(place, options.log);
    const server = await launchServer(place, options);
    const url = (name: string) =>
      `postgres://postgres:${password}@127.0.0.1:${server.port}/${name}`;
    const databaseName = options.databaseName ?? "postgres";
    try {
      await ensureDatabase(url("postgres"), databaseName);
    } catch (error) {
      await endServer(server);
      throw error;
    }
    options.log(`PostgreSQL ${place.majorVersion} runs on port ${server.port}`);

    let stopping: Promise<void> | undefined;
    const stop = async () => {
      await endServer(server);
      unlock();
      for (const folder of ephemeral ? place.folders : []) {
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      }
    };
    return {
      url: url(encodeURIComponent(databaseName)),
      port: server.port,
      pid: server.pid,
      folder: place.folder,
      ended: server.ended,
      stop: () => (stopping ??= stop()),
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function ensureDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query("select from pg_database where datname = $1", [name]);
    if (found.rowCount === 0) {
      await client.query(`create database ${client.escapeIdentifier(name)}`);
    }
  } finally {
    await client.end();
  }
}
