import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import pg from "pg";
import { expectNoSecrets } from "./secrets.ts";
import { stopServerHosts } from "./serverHosts.js";

const teardownPgTest = createRequire(import.meta.url)("@databases/pg-test/jest/globalTeardown");

/** Removes the run's databases, container and processes, then checks the recorded statements for secrets. */
export default async function globalTeardown() {
  await stopServerHosts(globalThis.serverHosts);
  await globalThis.pooler?.stop();
  // Read before the server stops and checked last, so that a finding cannot prevent the cleanup.
  const recorded = globalThis.localPostgres ? await statements() : null;
  if (!globalThis.localPostgres) {
    const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
    await admin.connect();
    await admin.query(`drop database if exists ${process.env.TEST_TEMPLATE_DATABASE} with (force)`);
    await admin.end();
  }
  await teardownPgTest();
  await globalThis.localPostgres?.stop();
  if (globalThis.memoryFolder !== null)
    await rm(globalThis.memoryFolder, { recursive: true, force: true, maxRetries: 5 });
  if (recorded === null) return;
  expectNoSecrets("a statement in pg_stat_statements", recorded.texts);
  if (recorded.evictions > 0)
    throw new Error(
      "the secret check missed statements, because pg_stat_statements evicted some: raise pg_stat_statements.max",
    );
}

/** The statements that pg_stat_statements has kept, and how often it evicted some. */
async function statements() {
  const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await admin.connect();
  try {
    await admin.query("create extension pg_stat_statements");
    const { rows } = await admin.query("select query from pg_stat_statements");
    const { rows: evictions } = await admin.query(
      "select dealloc::integer as count from pg_stat_statements_info",
    );
    return { texts: rows.map(({ query }) => query).join("\n"), evictions: evictions[0].count };
  } finally {
    await admin.end();
  }
}
