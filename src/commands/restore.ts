import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { restoringComment, stampOf } from "../migration/sources.ts";
import pg from "pg";
import { from } from "pg-copy-streams";
import { migrate } from "../migration/migrate.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { openClient } from "../postgres/pools.ts";
import { type BackupManifest, type BackupTable, readManifest, sha256Of } from "./backupFiles.ts";
import { requireFolder, runCommand } from "./runCommand.ts";

// `npm run db:restore -- <folder>`: restores a backup into a database without this service's schemas. The rows come in
// one transaction. Until its end the comment of the schema says so, so that no server starts on it, and a repeated
// restore replaces the schema that an interrupted one left.

const command = { usage: "Usage: npm run db:restore -- <folder of a backup>", options: {} };

await runCommand(command, async (config, { positionals }) => {
  const folder = requireFolder(command, positionals);
  const {
    ownerUrl,
    schema: tenant,
    extraSqlDir,
    url,
    workerUrl,
    maintenanceTimeoutMs,
  } = config.database;
  if (ownerUrl === undefined)
    throw new OperatorError(
      "DATABASE_OWNER_URL or DATABASE_URL must be set: the backup is restored there",
    );
  const manifest = await readManifest(folder);
  for (const { file, sha256 } of manifest.tables)
    if ((await sha256Of(join(folder, file)).catch(() => "")) !== sha256)
      throw new OperatorError(`${file} is missing or has changed: nothing was restored`);
  if (manifest.tenant !== tenant)
    throw new OperatorError(
      `The backup is of the schema "${manifest.tenant}", and this release uses "${tenant}"`,
    );

  const client = await openClient(ownerUrl, maintenanceTimeoutMs);
  try {
    const { rows } = await client.query<{ taken: boolean; isLeft: boolean; may: boolean }>(
      `select to_regnamespace($1) is not null as taken,
         obj_description(to_regnamespace($1), 'pg_namespace') is not distinct from $2 as "isLeft", rolsuper as may
       from pg_roles where rolname = current_user`,
      [tenant, restoringComment],
    );
    if (rows[0]?.isLeft) await dropSchema(client, tenant);
    else if (rows[0]?.taken)
      throw new OperatorError(
        `The database has a schema "${tenant}" already: restore into another one`,
      );
    if (!rows[0]?.may)
      throw new OperatorError(
        "Only a superuser can restore: triggers, which would change the rows, must not run",
      );
    await migrate(
      {
        ownerUrl,
        tenant,
        responseTimeoutMs: maintenanceTimeoutMs,
        extraSqlDir,
        production: config.production,
        loginUrls: [url, workerUrl],
      },
      (line) => console.log(line),
    );
    try {
      await fill(client, folder, manifest);
    } catch (error) {
      // Over a connection that has ended, the schema stays as if the restore had been interrupted.
      await client
        .query("rollback")
        .then(() => dropSchema(client, tenant))
        .catch(() => undefined);
      throw error;
    }
  } finally {
    await client.end();
  }
  console.log(
    [
      `Restored the backup of ${manifest.takenAt}. Check it with \`npm run audit:verify\` and \`npm run doctor\`.`,
      "If the live system still runs, set another bucket, search prefix and mail server before you start a worker on this database. If this database takes its place, run `npm run files:claim`.",
    ].join("\n"),
  );
  return 0;
});

async function fill(
  client: pg.Client,
  folder: string,
  { tenant, stamp, release, lastMigration, tables }: BackupManifest,
): Promise<void> {
  const { rows } = await client.query<{ stamp: string; comment: string }>(
    `select ${stampOf("$1")} as stamp, obj_description($1::regnamespace, 'pg_namespace') as comment`,
    [tenant],
  );
  if (rows[0]?.stamp !== stamp)
    throw new OperatorError(
      `The backup is of another release: restore it with release ${release}, whose last migration is ${lastMigration}, and then migrate`,
    );
  await describeSchema(client, tenant, restoringComment);
  await client.query("begin; set local session_replication_role = replica");
  const places = tables.map(placeOf);
  await client.query(`truncate ${places.join(", ")} cascade`);
  for (const table of tables) {
    const into = client.query(
      from(`copy ${placeOf(table)} (${table.columns.join(", ")}) from stdin`),
    );
    await pipeline(createReadStream(join(folder, table.file)), createGunzip(), into);
    if (into.rowCount !== table.rows)
      throw new OperatorError(`${table.name} has ${into.rowCount} rows instead of ${table.rows}`);
    await setSequences(client, table);
  }
  // Locks of workers that no longer exist.
  await client.query("select office_jobs.unlock_all()");
  await describeSchema(client, tenant, rows[0].comment);
  await client.query("commit");
}

async function describeSchema(client: pg.Client, tenant: string, text: string): Promise<void> {
  const [schema, comment] = [pg.escapeIdentifier(tenant), pg.escapeLiteral(text)];
  await client.query(`comment on schema ${schema} is ${comment}`);
}

async function dropSchema(client: pg.Client, tenant: string): Promise<void> {
  await client.query(`drop schema ${pg.escapeIdentifier(tenant)} cascade`);
}

function placeOf({ schema, name }: BackupTable): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

/** New rows continue after the restored ones. */
async function setSequences(client: pg.Client, table: BackupTable): Promise<void> {
  for (const column of table.columns) {
    const { rows } = await client.query<{ sequence: string | null }>(
      "select pg_get_serial_sequence($1, $2) as sequence",
      [placeOf(table), column.replaceAll('"', "")],
    );
    const sequence = rows[0]?.sequence;
    if (sequence != null)
      await client.query(
        `select setval($1, coalesce((select max(${column}) from ${placeOf(table)}), 0) + 1, false)`,
        [sequence],
      );
  }
}
