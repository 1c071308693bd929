import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../../db/migrate.ts";
import { readEngineVersion } from "../../src/search/engineVersion.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { makeMemoryFolder } from "./memoryFolder.ts";
import { startPoolerForAll } from "./pooler.ts";
import { unpackChromium } from "./console/unpackChromium.js";
import { startServerHosts } from "./serverHosts.js";

const setupPgTest = createRequire(import.meta.url)("@databases/pg-test/jest/globalSetup");
const image = "postgres:18";

/** Docker serves only where its engine runs and has the image already: tests fetch nothing from the network. */
function dockerServes() {
  const { status } = spawnSync("docker", ["image", "inspect", image], {
    stdio: "ignore",
    timeout: 10_000,
  });
  return status === 0;
}

/**
 * Does for the catalogue what PostgreSQL does by itself within a minute, for which the copies do not wait: without it, reading
 * a schema of some hundred objects takes several times as long.
 */
async function analyse(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `analyze pg_attrdef, pg_attribute, pg_class, pg_constraint, pg_depend, pg_description, pg_enum, pg_index, pg_namespace,
       pg_policy, pg_proc, pg_trigger, pg_type`,
  );
  await client.end();
}

/** Builds the console and unpacks the browser that opens it. Tests that need no console run with a build that failed. */
async function prepareBrowser() {
  const root = join(import.meta.dirname, "../..");
  const build = spawn(process.execPath, ["dev/buildConsole.ts"], { cwd: root, stdio: "inherit" });
  const built = once(build, "exit");
  // Before the first test is timed.
  if (!process.env.CONSOLE_BROWSER) await unpackChromium();
  await built;
}

/**
 * One PostgreSQL for the whole run, with a migrated template that each test file copies: TEST_DATABASE_URL where it is set, a
 * container of @databases/pg-test where there is Docker, the embedded server otherwise. And a process for the servers of each
 * of jest's workers.
 */
export default async function globalSetup({ maxWorkers }) {
  globalThis.memoryFolder = await makeMemoryFolder();
  if (globalThis.memoryFolder !== null) process.env.TMPDIR = globalThis.memoryFolder;
  const browser = prepareBrowser();
  const { TYPESENSE_URL: engine, TYPESENSE_API_KEY: apiKey } = process.env;
  if (engine && apiKey)
    process.env.TYPESENSE_VERSION = await readEngineVersion(new URL(engine).origin, {
      apiKey,
      timeoutMs: 10_000,
    });
  if (!process.env.TEST_DATABASE_URL && !dockerServes()) {
    const dataDir = await mkdtemp(join(tmpdir(), "back-office-test-"));
    globalThis.localPostgres = await startLocalPostgres({
      dataDir,
      ephemeral: true,
      log: () => {},
      postgresFlags: [
        "-c",
        "max_connections=300",
        "-c",
        "shared_preload_libraries=pg_stat_statements",
        // What it forgot to make room could not be looked through.
        "-c",
        "pg_stat_statements.max=50000",
      ],
    });
    process.env.TEST_DATABASE_URL = globalThis.localPostgres.url;
  }
  await setupPgTest({ environmentVariable: "TEST_DATABASE_URL", image });

  const template = `template_${process.pid}`;
  const admin = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await admin.connect();
  await admin.query(`create database ${template}`);
  await admin.end();
  const url = new URL(process.env.TEST_DATABASE_URL);
  url.pathname = `/${template}`;
  await migrate({ ownerUrl: url.href, tenant: "backoffice" }, () => {});
  await analyse(url.href);
  process.env.TEST_TEMPLATE_DATABASE = template;

  if (process.env.TEST_PGBOUNCER === "1") {
    // As few connections as let every server of the tests work, and many more clients.
    globalThis.pooler = await startPoolerForAll(process.env.TEST_DATABASE_URL, 3);
    process.env.TEST_POOLER_URL = globalThis.pooler.url;
  }

  const { hosts, ports } = await startServerHosts(maxWorkers);
  globalThis.serverHosts = hosts;
  process.env.TEST_SERVER_HOSTS = ports.join(",");
  await browser;
}
