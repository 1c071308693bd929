import { mainSchemaPool } from "./database.ts";
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type pg from "pg";
import { type LocalPostgres, startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { clusterFolder } from "../../dev/emulators/postgresCluster.ts";
import { changeOwner, choosePlace } from "../../dev/emulators/postgresPlace.ts";
import { type Cluster, clusterFlags } from "./cluster.ts";

const run = promisify(execFile);

/** A streaming hot standby of a cluster, as in production. */
export interface Standby {
  /** Connection URL of the superuser. */
  url: string;
  /** Superuser connections to the main schema. */
  pool: pg.Pool;
  /** The data directory. */
  files: string;
  /** Immediate shutdown (SIGQUIT), like a crash. */
  stopImmediately(): Promise<void>;
  /** Starts it again at the same port. */
  start(): Promise<void>;
  /** Promotes it to primary and waits until it is one. */
  promote(): Promise<void>;
  /** Replicates from another server from now on, such as a promoted standby. */
  follow(url: string): Promise<void>;
  drop(): Promise<void>;
}

/** Copies a running cluster with a low-level base backup, and starts the copy as its standby. */
export async function startStandby(primary: Cluster): Promise<Standby> {
  const dataDir = await mkdtemp(join(tmpdir(), "standby-"));
  const place = await choosePlace(dataDir, false);
  const files = clusterFolder(place);
  const { password } = new URL(primary.database.url);
  const conninfoOf = (address: string) => {
    const { hostname, port, username } = new URL(address);
    return `host=${hostname} port=${port} user=${username} password=${password}`;
  };
  const label = await copy(primary, files);
  const put = async (file: string, text: string) => {
    await writeFile(file, text, { mode: 0o600 });
    await changeOwner(place.runAs, file);
  };
  // `alter system` writes to this file; a command-line flag would override it.
  await appendFile(
    join(files, "postgresql.auto.conf"),
    `primary_conninfo = '${conninfoOf(primary.database.url)}'\n`,
  );
  await put(join(files, "backup_label"), label);
  await put(join(files, "standby.signal"), "");
  await writeFile(join(place.folder, "password"), password, { mode: 0o600 });

  const launch = (port?: number) =>
    startLocalPostgres({
      dataDir,
      log: () => {},
      postgresFlags: [
        ...clusterFlags,
        "-c",
        // Queries on the standby delay the replay only briefly.
        "max_standby_streaming_delay=100ms",
        "-c",
        "hot_standby_feedback=on",
      ],
      databaseName: "office",
      ...(port === undefined ? {} : { port }),
    });
  let server: LocalPostgres = await launch();
  const { url, port } = server;
  const pool = mainSchemaPool(url, 3);
  return {
    url,
    pool,
    files,
    async stopImmediately() {
      process.kill(server.pid, "SIGQUIT");
      await server.ended;
      await server.stop();
    },
    async start() {
      await server.stop();
      server = await launch(port);
    },
    async promote() {
      await pool.query("select pg_promote()");
    },
    async follow(other) {
      await pool.query(`alter system set primary_conninfo = '${conninfoOf(other)}'`);
      await pool.query("select pg_reload_conf()");
    },
    async drop() {
      await pool.end();
      await server.stop();
      await rm(place.folder, { recursive: true, force: true, maxRetries: 5 });
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Copies the files of the running primary; returns the content of `backup_label`. */
async function copy(primary: Cluster, target: string): Promise<string> {
  const client = await primary.database.pool.connect();
  try {
    await client.query("select pg_backup_start('standby', true)");
    // `cp -a` keeps the files' owner, unlike `fs.cp`.
    await run("cp", ["-a", primary.files(), target]).catch((error: unknown) => {
      // Files can disappear during the copy; the WAL replay handles that.
      if (!/No such file/.test(String((error as { stderr?: string }).stderr))) throw error;
    });
    const { rows } = await client.query<{ label: string }>(
      "select labelfile as label from pg_backup_stop(false)",
    );
    await rm(join(target, "postmaster.pid"), { force: true });
    await rm(join(target, "postmaster.opts"), { force: true });
    return rows[0]?.label ?? "";
  } finally {
    client.release(true);
  }
}
