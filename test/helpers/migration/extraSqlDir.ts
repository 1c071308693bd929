import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { compileCache, serverHostPort } from "../environment.ts";

const root = join(import.meta.dirname, "../../..");

/** The extra SQL folder of a deployment. */
export interface ExtraSqlDir {
  path: string;
  /** Adds a migration with the next free number; returns its file name. */
  migration(name: string, sql: string): Promise<string>;
  logic(name: string, sql: string): Promise<void>;
  /** Removes the last added migration, which was rejected. */
  removeLast(): Promise<void>;
  remove(): Promise<void>;
}

/** The extra SQL folder of a deployment that adds a suppliers table. */
export const suppliersFolder = join(import.meta.dirname, "../../fixtures/migration/suppliers");

/** Creates a temporary folder, optionally with the files of another one. */
export async function createExtraSqlDir(from?: string): Promise<ExtraSqlDir> {
  const path = await mkdtemp(join(tmpdir(), "own-sql-"));
  if (from !== undefined) await cp(from, path, { recursive: true });
  await mkdir(join(path, "migrations"), { recursive: true });
  await mkdir(join(path, "logic"), { recursive: true });
  const migrations = (await readdir(join(path, "migrations"))).sort();
  return {
    path,
    async migration(name, sql) {
      const file = `${String(migrations.length + 1).padStart(4, "0")}_${name}.sql`;
      await writeFile(join(path, "migrations", file), sql);
      migrations.push(file);
      return file;
    },
    logic: (name, sql) => writeFile(join(path, "logic", `${name}.sql`), sql),
    removeLast: () => rm(join(path, "migrations", migrations.pop() ?? "")),
    remove: () => rm(path, { recursive: true }),
  };
}

/** The exit code and output of the migrate command. */
interface Migrated {
  code: number | null;
  output: string;
}

const environmentOf = (databaseUrl: string, extraSqlDir?: string) => ({
  DATABASE_URL: databaseUrl,
  ...(extraSqlDir === undefined ? {} : { DATABASE_EXTRA_SQL_DIR: extraSqlDir }),
});

/** Runs the migrate command in the server host, which is faster than a new process. */
export async function runMigrate(
  databaseUrl: string,
  extraSqlDir?: string,
  args: readonly string[] = [],
): Promise<Migrated> {
  const socket = connect(serverHostPort, "127.0.0.1");
  const env = environmentOf(databaseUrl, extraSqlDir);
  socket.write(`${JSON.stringify({ run: "migrate", env, args })}\n`);
  return JSON.parse(await text(socket)) as Migrated;
}

/** Runs the migrate command in a new process, like a deployment. */
export async function runMigrateProcess(
  databaseUrl: string,
  extraSqlDir?: string,
): Promise<Migrated> {
  const child = spawn(process.execPath, ["src/migration/migrate.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...compileCache, ...environmentOf(databaseUrl, extraSqlDir) },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
