import { createHash } from "node:crypto";
import { basename } from "node:path";
import pg from "pg";
import { release } from "../process/release.ts";
import { Refusal } from "./refusals.ts";
import type { MigrationFolder, SqlFile, Sources } from "./sources.ts";

/** A migration of the versions before the first release, all of which today's migrations replace. */
const replacedMigration = "0001_text.sql";

/** A migration applied to a tenant. */
export interface Applied {
  /** The file name. */
  file: string;
  /** The day of its application, such as `2026-01-31`. */
  day: string;
  /** Null when it was applied before checksums were stored. */
  checksum: string | null;
}

/** The applied migrations of a folder, in order; none for a new tenant. */
export async function readApplied(
  client: pg.ClientBase,
  tenant: string,
  table: string,
): Promise<Applied[]> {
  const name = `${pg.escapeIdentifier(tenant)}.${pg.escapeIdentifier(table)}`;
  const { rows: found } = await client.query<{ found: boolean }>(
    "select to_regclass($1) is not null as found",
    [name],
  );
  if (!found[0]?.found) return [];
  // Older databases have no checksum column yet.
  const { rows } = await client.query<Applied>(
    `select m.name || '.sql' as file, to_char(m.run_on, 'YYYY-MM-DD') as day, to_jsonb(m) ->> 'checksum' as checksum
     from ${name} m order by m.name`,
  );
  return rows;
}

/**
 * Compares the files with a tenant's applied migrations, which must not be edited, removed or preceded by new numbers.
 * @throws Refusal that names each such file and its fix, or says that the tenant was made before the first release
 */
export async function checkHistory(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
): Promise<void> {
  const problems: string[] = [];
  for (const folder of sources.migrations) {
    const applied = await readApplied(client, tenant, folder.table);
    if (
      folder.table === "schema_migrations" &&
      applied.some(({ file }) => file === replacedMigration)
    )
      throw new Refusal(beforeFirstRelease(tenant));
    problems.push(...historyProblems(applied, folder));
  }
  const last = await lastOfMissingFolder(client, tenant, sources);
  if (last)
    problems.push(
      `${last.file} of the deployment's own folder was applied on ${last.day}: set DATABASE_EXTRA_SQL_DIR to the folder that holds "migrations" with this file`,
    );
  if (problems.length === 0) return;
  const newer = await marksOfNewerRelease(client, tenant, sources);
  const hint =
    newer.length === 0
      ? "\nIf only you use this database, docs/undoing.md says how to start over with an empty one"
      : "\nIf a newer release made these changes and you roll back, leave the database as it is: --accept-newer";
  throw new Refusal(
    `The files are not those that this database was made of, nothing was changed:\n  - ${problems.join("\n  - ")}${hint}`,
  );
}

/** The last applied migration of the deployment's own folder when the sources lack this folder, or it is empty. */
async function lastOfMissingFolder(
  client: pg.ClientBase,
  tenant: string,
  { migrations }: Sources,
): Promise<Applied | undefined> {
  const own = migrations.find(({ table }) => table === "own_schema_migrations");
  if (own && own.files.length > 0) return undefined;
  return (await readApplied(client, tenant, "own_schema_migrations")).at(-1);
}

/**
 * What shows that a newer release has migrated the schema: migrations that follow the last file of this release, or the
 * number of the release; nothing when another difference exists too.
 */
export async function marksOfNewerRelease(
  client: pg.ClientBase,
  tenant: string,
  sources: Sources,
): Promise<string[]> {
  if (await lastOfMissingFolder(client, tenant, sources)) return [];
  const newer: string[] = [];
  for (const folder of sources.migrations) {
    const applied = await readApplied(client, tenant, folder.table);
    const last = basename(folder.files.at(-1)?.path ?? "");
    const known = applied.filter(({ file }) => file <= last);
    if (known.length < folder.files.length || historyProblems(known, folder).length > 0) return [];
    newer.push(...applied.filter(({ file }) => file > last).map(({ file }) => file));
  }
  const { rows } = await client.query<{ release: string | null }>(
    "select split_part(obj_description(to_regnamespace($1), 'pg_namespace'), ' ', 3) as release",
    [tenant],
  );
  const made = rows[0]?.release ?? "";
  if (isNewer(made, release)) newer.push(`release ${made}`);
  return newer;
}

/** Whether a version, such as `1.10.0`, is newer than another. */
function isNewer(version: string, than: string): boolean {
  return version !== "" && version.localeCompare(than, "en", { numeric: true }) > 0;
}

function beforeFirstRelease(tenant: string): string {
  return [
    `The migrations of the schema "${tenant}" are of a version before the first release, nothing was changed.`,
    "The migrations of the first release replace them and cannot continue from them. Start over with an empty database:",
    "  - the embedded database: stop `npm start`, then run `npm run db:reset`",
    "  - a database of your own: drop it and create it again",
  ].join("\n");
}

function historyProblems(applied: readonly Applied[], { files }: MigrationFolder): string[] {
  const byName = new Map(files.map((file) => [basename(file.path), file]));
  const known = new Set(applied.map(({ file }) => file));
  const pending = files.filter(({ path }) => !known.has(basename(path)));
  const last = applied.at(-1);
  const next = String(
    Number((files.at(-1) ? basename(files.at(-1)?.path ?? "") : "0").slice(0, 4)) + 1,
  );
  const renamed = new Set<SqlFile>();
  const problems = applied.flatMap(({ file, day, checksum }) => {
    const there = byName.get(file);
    if (there)
      return checksum === null || checksum === checksumOf(there)
        ? []
        : [
            `${file} was applied on ${day} and has changed since: restore it and put the change into a new migration`,
          ];
    const other = pending.find((one) => checksum !== null && checksumOf(one) === checksum);
    if (other) {
      renamed.add(other);
      return [
        `${file} was applied on ${day} and is now called ${basename(other.path)}: give it its old name back`,
      ];
    }
    return [
      `${file} was applied on ${day} and is missing: restore it, and write a new migration to undo what it did`,
    ];
  });
  const overtaken = pending
    .filter((file) => last !== undefined && basename(file.path) < last.file && !renamed.has(file))
    .map(
      ({ path }) =>
        `${basename(path)} has not run, and ${last?.file ?? ""} was applied before it on ${last?.day ?? ""}: give it the next free number, ${next.padStart(4, "0")}`,
    );
  return [...problems, ...overtaken];
}

/** Stores the checksums of a folder's applied files, and adds missing ones. */
export async function storeChecksums(
  client: pg.ClientBase,
  tenant: string,
  { table, files }: MigrationFolder,
): Promise<void> {
  const name = `${pg.escapeIdentifier(tenant)}.${pg.escapeIdentifier(table)}`;
  const { rows } = await client.query(
    "select from pg_attribute where attrelid = to_regclass($1) and attname = 'checksum' and not attisdropped",
    [name],
  );
  if (rows.length === 0) await client.query(`alter table ${name} add column checksum text`);
  await client.query(
    `update ${name} m set checksum = f.checksum from unnest($1::text[], $2::text[]) as f(name, checksum)
     where m.name = f.name and m.checksum is null`,
    [files.map(({ path }) => basename(path, ".sql")), files.map(checksumOf)],
  );
}

/** Independent of the line endings of the checkout. */
function checksumOf({ text }: SqlFile): string {
  return createHash("sha256").update(text).digest("hex");
}
