import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import pg from "pg";
import { readConfig } from "../src/config.ts";
import { startEmbeddedPostgres } from "./emulators/postgres.ts";
import { dumpSchema } from "./dump/dumpSchema.ts";
import { firstDifference } from "./dump/firstDifference.ts";
import { buildApi, printApi } from "../db/printApi.ts";
import { migrate } from "../db/migrate.ts";

/** A committed file that shows in a review what a change does to the database or to the API. */
export interface Dump {
  path: string;
  text: string;
}

const root = join(import.meta.dirname, "..");
const area = "backoffice";

/** Both committed files as an area of a database makes them. */
export async function makeDumps(pool: pg.Pool, areaOfDumps: string): Promise<Dump[]> {
  const client = await pool.connect();
  try {
    const heading =
      "-- What the database holds after all migrations. Written by `npm run db:dump`: change db/, not this file.\n\n";
    return [
      {
        path: join(root, "db", "schema.sql"),
        text: heading + (await dumpSchema(client, areaOfDumps)),
      },
      {
        path: join(root, "schema.graphql"),
        text: `# The API. Written by \`npm run db:dump\`: change db/ or src/, not this file.\n\n${printApi(await buildApi(pool, areaOfDumps))}`,
      },
    ];
  } finally {
    client.release();
  }
}

/** One message for each committed file that is not what it should be, with the first lines that differ. */
export async function findStale(dumps: readonly Dump[]): Promise<string[]> {
  const messages: string[] = [];
  for (const { path, text } of dumps) {
    const committed = existsSync(path) ? await readFile(path, "utf8") : "";
    const difference = firstDifference(committed, text);
    if (difference)
      messages.push(
        `${relative(root, path)} is stale; \`npm run db:dump\` rewrites it:\n${difference}`,
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
        dataDir: join(tmpdir(), `office-dump-${process.pid}`),
        log: () => {},
        ephemeral: true,
      });
  const admin = new pg.Client({ connectionString: given ?? server?.url });
  const name = `office_dump_${process.pid}`;
  try {
    await admin.connect();
    await admin.query(`create database ${name}`);
    try {
      const url = new URL(given ?? server?.url ?? "");
      url.pathname = `/${name}`;
      await migrate({ ownerUrl: url.href, area }, () => {});
      const pool = new pg.Pool({ connectionString: url.href, max: 2 });
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

if (import.meta.main) {
  const dumps = await withFreshDatabase((pool) => makeDumps(pool, area));
  if (process.argv.includes("--check")) {
    const stale = await findStale(dumps);
    for (const message of stale) console.error(message);
    if (stale.length > 0) process.exitCode = 1;
  } else {
    for (const { path, text } of dumps) {
      await writeFile(path, text);
      console.log(`Wrote ${relative(root, path)}`);
    }
  }
}
