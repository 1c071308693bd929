import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type pg from "pg";
import {
  type Entry,
  type NameProblem,
  extraFolderProblems,
  logicNameProblems,
  migrationNameProblems,
  shownPath,
} from "./fileNames.ts";
import { Refusal } from "./refusals.ts";

/** The SQL of a tenant: the product's, then the deployment's. */
export interface Sources {
  /** Migration folders in order, each with its own table of applied files and its own numbers. */
  migrations: MigrationFolder[];
  /** Run after the migrations, each time. */
  logic: SqlFile[];
  /** The deployment's part of `logic`. */
  ownLogic: readonly SqlFile[];
  /** Reference data, run last. */
  data: SqlFile[];
  /** The deployment's extensions and roles, created before the migrations by the administrator; undefined without any. */
  prepare: SqlFile | undefined;
  /** A hash of all files; a tenant with the same stamp is up to date. See {@link stampOf}. */
  stamp: string;
}

/** A migration folder with its table of applied files. */
export interface MigrationFolder {
  folder: string;
  table: string;
  files: SqlFile[];
}

/** A file and its text. */
export interface SqlFile {
  path: string;
  text: string;
}

const sqlFolder = join(import.meta.dirname, "../../db");

/**
 * Reads the SQL files of `db` and of an optional extra folder with `migrations`, `logic` and `prepare.sql`.
 * @throws Refusal when that folder has none of them, or a file name is invalid
 */
export async function readSources(extraSqlDir?: string): Promise<Sources> {
  const product = await Promise.all(
    ["migrations", "logic", "data"].map(async (name) => {
      const folder = join(sqlFolder, name);
      return sqlFiles(folder, await entriesOf(folder));
    }),
  );
  const [migrations = [], logic = [], data = []] = product;
  const own = extraSqlDir === undefined ? null : await readExtraFiles(extraSqlDir);
  const files = [
    ...migrations,
    ...logic,
    ...data,
    ...(own?.migrations ?? []),
    ...(own?.logic ?? []),
    ...(own?.prepare ? [own.prepare] : []),
  ];
  const hash = createHash("sha256");
  for (const { text } of files) hash.update(text).update("\0");
  return {
    migrations: [
      { folder: join(sqlFolder, "migrations"), table: "schema_migrations", files: migrations },
      ...(extraSqlDir !== undefined && own?.migrations
        ? [
            {
              folder: join(extraSqlDir, "migrations"),
              table: "own_schema_migrations",
              files: own.migrations,
            },
          ]
        : []),
    ],
    logic: [...logic, ...(own?.logic ?? [])],
    ownLogic: own?.logic ?? [],
    data,
    prepare: own?.prepare,
    stamp: hash.digest("hex").slice(0, 32),
  };
}

async function readExtraFiles(folder: string) {
  const [entries = [], migrations, logic] = await Promise.all([
    entriesIfAny(folder),
    entriesIfAny(join(folder, "migrations")),
    entriesIfAny(join(folder, "logic")),
  ]);
  const hasPrepare = entries.some(({ name }) => name === "prepare.sql");
  if (!migrations && !logic && !hasPrepare)
    throw new Refusal(
      `DATABASE_EXTRA_SQL_DIR: ${folder} has no folder "migrations" or "logic" and no file "prepare.sql"`,
    );
  refuseNames(folder, extraFolderProblems(entries));
  return {
    migrations: migrations && (await sqlFiles(join(folder, "migrations"), migrations)),
    logic: logic && (await sqlFiles(join(folder, "logic"), logic)),
    prepare: hasPrepare ? (await readFiles(folder, ["prepare.sql"]))[0] : undefined,
  };
}

/** Undefined for a folder that does not exist. A file of it that does not exist is refused when it is read. */
async function entriesIfAny(folder: string): Promise<Entry[] | undefined> {
  try {
    return await entriesOf(folder);
  } catch (error) {
    // A file in place of the folder.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? ""))
      return undefined;
    throw error;
  }
}

async function entriesOf(folder: string): Promise<Entry[]> {
  return (await readdir(folder, { withFileTypes: true })).map((entry) => ({
    name: entry.name,
    isFolder: entry.isDirectory(),
  }));
}

async function sqlFiles(folder: string, entries: readonly Entry[]): Promise<SqlFile[]> {
  const isMigrations = basename(folder) === "migrations";
  refuseNames(folder, isMigrations ? migrationNameProblems(entries) : logicNameProblems(entries));
  const names = entries.map(({ name }) => name).filter((name) => !name.startsWith("."));
  const files = await readFiles(folder, names.sort());
  const empty = files.filter(({ text }) => isMigrations && text.trim() === "");
  refuseNames(
    folder,
    empty.map(({ path }) => ({
      file: basename(path),
      message: `${basename(path)} is empty: write the migration or remove the file`,
    })),
  );
  return files;
}

/** @throws Refusal when a file cannot be read, or is not in plain UTF-8 */
async function readFiles(folder: string, names: readonly string[]): Promise<SqlFile[]> {
  const problems: NameProblem[] = [];
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const bytes = await readFile(path).catch((error: unknown) => {
        if (!(error instanceof Error)) throw error;
        problems.push({ file: name, message: `${name} cannot be read: ${error.message}` });
        return Buffer.alloc(0);
      });
      const found = encodingProblem(bytes);
      if (found !== undefined) problems.push({ file: name, message: `${name} ${found}` });
      return { path, text: withLineFeeds(bytes.toString("utf8")) };
    }),
  );
  refuseNames(folder, problems);
  return files;
}

/** A text with the line ends of a checkout on Windows, which comments would have in the values of tags. */
export const withLineFeeds = (text: string): string => text.replaceAll("\r\n", "\n");

/** PostgreSQL would report a syntax error at a character that no editor shows. */
function encodingProblem(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return "has NUL characters, as text in UTF-16 has: save it as UTF-8";
  if (bytes.subarray(0, 3).equals(byteOrderMark))
    return "begins with a byte order mark: save it as UTF-8 without one";
  return isUtf8(bytes) ? undefined : "has bytes of another encoding: save it as UTF-8";
}

const byteOrderMark = Buffer.from("\uFEFF");

function refuseNames(folder: string, problems: readonly NameProblem[]): void {
  if (problems.length === 0) return;
  const lines = problems.map(({ message }) => `  - ${message}`);
  throw new Refusal(
    [`${shownPath(folder)} has files that cannot be applied, nothing was changed:`, ...lines].join(
      "\n",
    ),
  );
}

/** The comment of a schema while `db:restore` fills it. */
export const restoringComment = "restoring a backup";

/** What to do about a schema with that comment. */
export const restoringText = (schema: string): string =>
  `The schema "${schema}" is being restored, or its restore was interrupted: wait, or run \`npm run db:restore\` again`;

/** SQL for the stamp of a schema, whose comment holds it before the fingerprint; null without such a schema. */
export const stampOf = (schema: string): string =>
  `split_part(obj_description(to_regnamespace(${schema}), 'pg_namespace'), ' ', 1)`;

/** Whether a schema exists, of which files it was made, and whether `db:restore` fills it. */
export async function readSchemaState(client: Pick<pg.ClientBase, "query">, schema: string) {
  const { rows } = await client.query<{
    made: boolean;
    stamp: string | null;
    isRestoring: boolean;
  }>(
    `select to_regnamespace($1) is not null as made, ${stampOf("$1")} as stamp,
       obj_description(to_regnamespace($1), 'pg_namespace') is not distinct from $2 as "isRestoring"`,
    [schema, restoringComment],
  );
  return rows[0] ?? { made: false, stamp: null, isRestoring: false };
}
