import { createWriteStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { readApplied } from "../migration/history.ts";
import { stampOf } from "../migration/sources.ts";
import { release } from "../process/release.ts";
import pg from "pg";
import { to } from "pg-copy-streams";
import { OperatorError } from "../text/OperatorError.ts";
import { openClient } from "../postgres/pools.ts";
import { isNoSpace } from "../health/diskFull.ts";
import { isDatabaseError } from "../errors/databaseErrors.ts";
import {
  type BackupManifest,
  type BackupTable,
  columnsOf,
  manifestFile,
  sha256Of,
} from "./backupFiles.ts";
import { requireFolder, runCommand } from "./runCommand.ts";

// `npm run db:backup -- <folder>`: writes one snapshot of all rows of the main schema and of the queue's jobs.

const command = { usage: "Usage: npm run db:backup -- <new folder>", options: {} };

await runCommand(command, async ({ database }, { positionals }) => {
  const { ownerUrl, schema: tenant, maintenanceTimeoutMs } = database;
  const folder = requireFolder(command, positionals);
  if (ownerUrl === undefined)
    throw new OperatorError(
      "DATABASE_OWNER_URL or DATABASE_URL must be set: it names the database to back up",
    );
  const client = await openClient(ownerUrl, maintenanceTimeoutMs);
  try {
    await mkdir(folder, { recursive: false, mode: 0o700 }).catch((error: unknown) => {
      throw new OperatorError(`${folder} cannot be created: ${(error as Error).message}`);
    });
    const { rows, tables } = await backUp(client, folder, tenant).catch(async (error: unknown) => {
      // The next attempt can use the same name.
      await rm(folder, { recursive: true });
      throw error;
    });
    console.log(`${rows} rows of ${tables} tables are in ${folder}`);
    return 0;
  } finally {
    await client.end();
  }
});

/** Writes all tables and then the manifest. */
async function backUp(client: pg.Client, folder: string, tenant: string) {
  await client.query("begin isolation level repeatable read read only");
  // The owner of the tables bypasses row-level security, and needs no administrator's rights.
  await client.query("set local role office_owner");
  const { rows: found } = await client.query<{
    stamp: string | null;
    names: string[];
    version: string;
  }>(
    `select ${stampOf("$1")} as stamp, current_setting('server_version') as version,
       array(select relname::text from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p') and not relispartition order by 1) as names`,
    [tenant],
  );
  const { stamp = null, names = [], version = "" } = found[0] ?? {};
  if (stamp === null)
    throw new OperatorError(`This database has no schema "${tenant}" of this service`);
  const migrations = await readApplied(client, tenant, "schema_migrations");
  const tables: BackupTable[] = [];
  for (const name of names) tables.push(await copyOut(client, folder, tenant, name));
  await client.query("set local role office_worker");
  const { rows: queue } = await client.query<{ name: string }>(
    "select unnest(office_jobs.backup_tables()) as name",
  );
  for (const { name } of queue) tables.push(await copyOut(client, folder, "graphile_worker", name));
  const manifest: BackupManifest = {
    format: "back-office backup 1",
    takenAt: new Date().toISOString(),
    postgres: version,
    tenant,
    stamp,
    release,
    lastMigration: migrations.at(-1)?.file ?? "",
    tables,
  };
  await writeFile(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
  });
  return { rows: tables.reduce((sum, table) => sum + table.rows, 0), tables: tables.length };
}

async function copyOut(
  client: pg.Client,
  folder: string,
  schema: string,
  name: string,
): Promise<BackupTable> {
  const columns = await columnsOf(client, schema, name);
  const file = `${schema}.${name}.copy.gz`;
  const place = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
  const stream = client.query(to(`copy (select ${columns.join(", ")} from ${place}) to stdout`));
  const written = createWriteStream(join(folder, file), { mode: 0o600 });
  await pipeline(stream, createGzip(), written).catch((error: unknown) => {
    if (!isNoSpace(error) || isDatabaseError(error)) throw error;
    throw new OperatorError(`${join(folder, file)} cannot be written: the disk is full`);
  });
  const sha256 = await sha256Of(join(folder, file));
  return { schema, name, columns, rows: stream.rowCount, file, sha256 };
}
