import { createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { stampOf } from "../migration/sources.ts";
import pg from "pg";
import { to } from "pg-copy-streams";
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
import { CommandError, runCommand } from "./runCommand.ts";

// `npm run db:backup -- <folder>`: writes one snapshot of all rows of the main schema and of the queue's jobs.

await runCommand(async ({ database: { ownerUrl, schema: tenant, maintenanceTimeoutMs } }) => {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new CommandError("npm run db:backup -- <new folder>");
  if (ownerUrl === undefined)
    throw new CommandError(
      "DATABASE_OWNER_URL or DATABASE_URL must be set: it names the database to back up",
    );
  const client = await openClient(ownerUrl, maintenanceTimeoutMs);
  try {
    await mkdir(folder, { recursive: false, mode: 0o700 }).catch((error: unknown) => {
      throw new CommandError(`${folder} cannot be created: ${(error as Error).message}`);
    });
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
      throw new CommandError(`This database has no schema "${tenant}" of this service`);
    const tables: BackupTable[] = [];
    for (const name of names) tables.push(await copyOut(client, folder, tenant, name));
    await client.query("set local role office_worker");
    const { rows: queue } = await client.query<{ name: string }>(
      "select unnest(office_jobs.backup_tables()) as name",
    );
    for (const { name } of queue)
      tables.push(await copyOut(client, folder, "graphile_worker", name));
    const manifest: BackupManifest = {
      format: "back-office backup 1",
      takenAt: new Date().toISOString(),
      postgres: version,
      tenant,
      stamp,
      tables,
    };
    await writeFile(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, {
      mode: 0o600,
    });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    console.log(`${rows} rows of ${tables.length} tables are in ${folder}`);
    return 0;
  } finally {
    await client.end();
  }
});

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
    throw new CommandError(`${join(folder, file)} cannot be written: the disk is full`);
  });
  const sha256 = await sha256Of(join(folder, file));
  return { schema, name, columns, rows: stream.rowCount, file, sha256 };
}
