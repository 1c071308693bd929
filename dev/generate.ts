import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import pg from "pg";
import { format, resolveConfig } from "prettier";
import { readConfig } from "../src/config.ts";
import { measureAccess } from "./access/matrix.ts";
import { startEmbeddedPostgres } from "./emulators/postgres.ts";
import { dumpSchema } from "./dump/dumpSchema.ts";
import { firstDifference } from "./dump/firstDifference.ts";
import { licencesPage } from "./licences.ts";
import { withPermissionTables } from "./permissionTables.ts";
import { withSettingsTable } from "./settingsTable.ts";
import { buildApi, printApi } from "../db/printApi.ts";
import { migrate } from "../db/migrate.ts";

/** A committed file that is made from others, so that a review shows what a change does. */
export interface GeneratedFile {
  path: string;
  text: string;
}

const root = join(import.meta.dirname, "..");
const tenant = "backoffice";
const accessFile = join(root, "test", "fixtures", "db", "access.expected.json");

/** The files that need no database. */
async function generateDocuments(): Promise<GeneratedFile[]> {
  const readme = join(root, "README.md");
  return [
    { path: join(root, "docs", "licences.md"), text: await licencesPage() },
    { path: readme, text: withSettingsTable(await readFile(readme, "utf8")) },
  ];
}

/** The expectation of the access matrix: who reaches what in each table. */
async function generateAccess(pool: pg.Pool): Promise<GeneratedFile> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const access = await measureAccess(client);
    const options = { ...(await resolveConfig(accessFile)), filepath: accessFile };
    return { path: accessFile, text: await format(JSON.stringify(access), options) };
  } finally {
    await client.query("rollback");
    client.release(true);
  }
}

/** The tables of permissions in docs/access.md. */
async function generatePermissions(pool: pg.Pool): Promise<GeneratedFile> {
  const path = join(root, "docs", "access.md");
  const schema = await buildApi(pool, tenant);
  return { path, text: await withPermissionTables(await readFile(path, "utf8"), schema, pool) };
}

/** The dumps of the schema and of the API, as a tenant of a database makes them. */
export async function makeDumps(pool: pg.Pool, tenantOfDumps: string): Promise<GeneratedFile[]> {
  const client = await pool.connect();
  try {
    const heading =
      "-- What the database holds after all migrations. Written by `npm run generate`: change db/, not this file.\n\n";
    return [
      {
        path: join(root, "db", "schema.sql"),
        text: heading + (await dumpSchema(client, tenantOfDumps)),
      },
      {
        path: join(root, "schema.graphql"),
        text: `# The API. Written by \`npm run generate\`: change db/ or src/, not this file.\n\n${printApi(await buildApi(pool, tenantOfDumps))}`,
      },
    ];
  } finally {
    client.release();
  }
}

/** One message for each committed file that is not what it should be, with the first lines that differ. */
export async function findStale(dumps: readonly GeneratedFile[]): Promise<string[]> {
  const messages: string[] = [];
  for (const { path, text } of dumps) {
    const committed = existsSync(path) ? await readFile(path, "utf8") : "";
    const difference = firstDifference(committed, text);
    if (difference)
      messages.push(
        `${relative(root, path)} is stale; \`npm run generate\` rewrites it:\n${difference}`,
      );
  }
  return messages;
}

/** Runs `work` on a database that was made for it by the files alone, and that is removed after it. */
async function withFreshDatabase<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const { database } = readConfig(process.env);
  const given = database.ownerUrl;
  const server = given
    ? undefined
    : await startEmbeddedPostgres({
        dataDir: join(tmpdir(), `office-generate-${process.pid}`),
        log: () => {},
        ephemeral: true,
      });
  const admin = new pg.Client({ connectionString: given ?? server?.url });
  const name = `office_generate_${process.pid}`;
  try {
    await admin.connect();
    await admin.query(`create database ${name}`);
    try {
      const url = new URL(given ?? server?.url ?? "");
      url.pathname = `/${name}`;
      await migrate({ ownerUrl: url.href, tenant }, () => {});
      const pool = new pg.Pool({
        connectionString: url.href,
        max: 2,
        options: `-c search_path=${tenant},extensions,pg_temp`,
      });
      // Its connections may still be closing when the database goes; a failed query speaks for itself.
      pool.on("error", () => {});
      try {
        return await work(pool);
      } finally {
        await pool.end();
      }
    } finally {
      await admin.query(`drop database if exists ${name} with (force)`);
    }
  } finally {
    await admin.end();
    await server?.stop();
  }
}

// `npm run generate` rewrites every generated file; with `--check` it names those that are stale and writes nothing.
if (import.meta.main) {
  const files = await withFreshDatabase(async (pool) => [
    ...(await generateDocuments()),
    ...(await makeDumps(pool, tenant)),
    await generateAccess(pool),
    await generatePermissions(pool),
  ]);
  if (process.argv.includes("--check")) {
    const stale = await findStale(files);
    for (const message of stale) console.error(message);
    if (stale.length > 0) process.exitCode = 1;
  } else {
    for (const { path, text } of files) {
      await writeFile(path, text);
      console.log(`Wrote ${relative(root, path)}`);
    }
  }
}
