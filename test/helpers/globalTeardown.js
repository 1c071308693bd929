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
  const recorded = globalThis.localPostgres ? await statements() : "";
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
  expectNoSecrets("a statement in pg_stat_statements", recorded);
}

/** All statements of the run that pg_stat_statements has kept. */
async function statements() {
  const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await admin.connect();
  try {
    await admin.query("create extension pg_stat_statements");
    const { rows } = await admin.query("select query from pg_stat_statements");
    return rows.map(({ query }) => query).join("\n");
  } finally {
    await admin.end();
  }
}
