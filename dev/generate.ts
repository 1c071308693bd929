import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import pg from "pg";
import { format, resolveConfig } from "prettier";
import { readConfig, settingGroups, settings } from "../src/config.ts";
import { failureText } from "../src/errors/failureText.ts";
import { measureAccess } from "./access/matrix.ts";
import { startLocalPostgres } from "./emulators/postgres.ts";
import { dumpSchema } from "./dump/dumpSchema.ts";
import { firstDifference } from "./dump/firstDifference.ts";
import { handbookSql } from "./handbookPages.ts";
import { licencesPage } from "./licences.ts";
import { withPermissionTables } from "./permissionTables.ts";
import { envExample } from "./envExample.ts";
import { settingsPage } from "./settingsTable.ts";
import { buildApi, printApi } from "../src/migration/printApi.ts";
import { migrate } from "../src/migration/migrate.ts";

/** A committed file that is generated from others, so that a review shows the effect of a change. */
export interface GeneratedFile {
  path: string;
  text: string;
}

const root = join(import.meta.dirname, "..");
const tenant = "backoffice";
const accessFile = join(root, "test", "fixtures", "db", "access.expected.json");

/** The files that are generated without a database. */
async function generateDocuments(): Promise<GeneratedFile[]> {
  return [
    { path: join(root, "docs", "licences.md"), text: await licencesPage() },
    ...(await generateHandbook()),
    ...(await generateSettings()),
  ];
}

/** The pages of the handbook that come with the product. */
export async function generateHandbook(): Promise<GeneratedFile[]> {
  return [
    { path: join(root, "db", "data", "handbook.sql"), text: await handbookSql(join(root, "docs")) },
  ];
}

/** The files that are generated from the settings. */
export async function generateSettings(): Promise<GeneratedFile[]> {
  const compose = await readFile(join(root, "docker-compose.yml"), "utf8");
  return [
    { path: join(root, "docs", "settings.md"), text: settingsPage(settingGroups) },
    { path: join(root, ".env.example"), text: envExample(compose, settings) },
  ];
}

/** The expected access matrix: which role reaches which rows of each table. */
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

/** The dumps of the database schema and of the API of a tenant. */
export async function makeDumps(pool: pg.Pool, tenantOfDumps: string): Promise<GeneratedFile[]> {
  const client = await pool.connect();
  try {
    const heading =
      "-- The database after all migrations. Written by `npm run generate`: change db/, not this file.\n\n";
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

/** One message for each committed file that is stale, with the first lines that differ. */
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

/** Runs `work` on a new, migrated database, and removes the database. */
async function withFreshDatabase<T>(work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const { database } = readConfig(process.env);
  const ownUrl = database.ownerUrl;
  const server = ownUrl
    ? undefined
    : await startLocalPostgres({
        dataDir: join(tmpdir(), `office-generate-${process.pid}`),
        log: () => {},
        ephemeral: true,
      });
  const admin = new pg.Client({ connectionString: ownUrl ?? server?.url });
  const name = `office_generate_${process.pid}`;
  try {
    await admin.connect();
    await admin.query(`create database ${name}`);
    try {
      const url = new URL(ownUrl ?? server?.url ?? "");
      url.pathname = `/${name}`;
      await migrate({ ownerUrl: url.href, tenant }, () => {});
      const pool = new pg.Pool({
        connectionString: url.href,
        max: 2,
        options: `-c search_path=${tenant},extensions,pg_temp`,
      });
      // Connections may still be closing when the database is dropped. Failed queries reject separately.
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

/** Rewrites every generated file; with `--check`, names the stale ones and writes nothing. */
async function main(checkOnly: boolean): Promise<void> {
  const files = await withFreshDatabase(async (pool) => [
    ...(await generateDocuments()),
    ...(await makeDumps(pool, tenant)),
    await generateAccess(pool),
    await generatePermissions(pool),
  ]);
  if (checkOnly) {
    const stale = await findStale(files);
    for (const message of stale) console.error(message);
    if (stale.length > 0) process.exitCode = 1;
    return;
  }
  for (const { path, text } of files) {
    await writeFile(path, text);
    console.log(`Wrote ${relative(root, path)}`);
  }
}

if (import.meta.main)
  try {
    await main(process.argv.includes("--check"));
  } catch (error) {
    console.error(failureText(error));
    process.exitCode = 1;
  }
