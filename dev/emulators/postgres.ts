import { rm } from "node:fs/promises";
import path from "node:path";
import pg from "pg";
import { lockFolder } from "./folderLock.ts";
import { endLeftover, ensureCluster } from "./postgresCluster.ts";
import { choosePlace } from "./postgresPlace.ts";
import { endServer, launchServer } from "./postgresServer.ts";

/** Options of a local PostgreSQL server. */
export interface LocalPostgresOptions {
  /** The folder for the database and everything about it; made when missing. */
  dataDir: string;
  /** Takes what happens, line by line. The server's own log is `postgres.log` in the folder. */
  log: (line: string) => void;
  /** A fixed port; without it a free one is chosen. */
  port?: number;
  /** The database that `url` names, created when missing. Default `postgres`. */
  databaseName?: string;
  /** Further settings as PostgreSQL takes them on its command line, such as `-c`, `work_mem=8MB`. */
  postgresFlags?: string[];
  /** For tests: no care about crashes of the machine, and the folder is removed at the end. */
  ephemeral?: boolean;
}

/** A running local PostgreSQL server. */
export interface LocalPostgres {
  /** For the superuser, with the password. Not to be logged. */
  url: string;
  port: number;
  pid: number;
  /** Where the database really is; as root it may be elsewhere than asked for. */
  folder: string;
  /** Resolves when the server has ended, asked or not. */
  ended: Promise<void>;
  /** Ends the server and waits until it is gone. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL server that is used without DATABASE_URL.
 *
 * It listens on 127.0.0.1 only and asks for a password. The data stays for the next start. When
 * this process dies without `stop`, even by SIGKILL, a guard process shuts the server down.
 *
 * Throws, with a message for the person at the keyboard, when the folder is in use by another
 * start, when its data is of another version, when a fixed port is taken, and when the server does
 * not come up within two minutes.
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  const ephemeral = options.ephemeral ?? false;
  const place = await choosePlace(path.resolve(options.dataDir), ephemeral);
  const unlock = lockFolder(place.folder);
  try {
    const password = await ensureCluster(place, { log: options.log, sync: !ephemeral });
    await endLeftover(place, options.log);
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
