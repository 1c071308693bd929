import { createRequire } from "node:module";
import pg from "pg";
import { stopServerHosts } from "./serverHosts.js";

const teardownPgTest = createRequire(import.meta.url)("@databases/pg-test/jest/globalTeardown");

/** Leaves nothing behind: no database on a server of one's own, no container, no process. */
export default async function globalTeardown() {
  await stopServerHosts(globalThis.serverHosts);
  await globalThis.pooler?.stop();
  if (!globalThis.embeddedPostgres) {
    const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
    await admin.connect();
    await admin.query(`drop database if exists ${process.env.TEST_TEMPLATE_DATABASE} with (force)`);
    await admin.end();
  }
  await teardownPgTest();
  await globalThis.embeddedPostgres?.stop();
}
