import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { readEngineVersion } from "../../src/search/engineVersion.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { makeMemoryFolder } from "./memoryFolder.ts";
import { startPoolerForAll } from "./pooler.ts";
import { unpackChromium } from "./console/unpackChromium.js";
import { startServerHosts } from "./serverHosts.js";

const setupPgTest = createRequire(import.meta.url)("@databases/pg-test/jest/globalSetup");
const image = "postgres:18";

/** Whether Docker runs and has the image. Tests download nothing. */
function hasDockerImage() {
  const { status } = spawnSync("docker", ["image", "inspect", image], {
    stdio: "ignore",
    timeout: 10_000,
  });
  return status === 0;
}

/**
 * Analyzes the catalog, because the template's copies do not wait for autovacuum.
 * Without statistics, introspection of some hundred objects takes several times as long.
 */
async function analyzeCatalog(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `analyze pg_attrdef, pg_attribute, pg_class, pg_constraint, pg_depend, pg_description, pg_enum, pg_index, pg_namespace,
       pg_policy, pg_proc, pg_trigger, pg_type`,
  );
  await client.end();
}

/** Builds the console and unpacks the browser. A failed build does not stop tests that need no console. */
async function prepareBrowser() {
  const root = join(import.meta.dirname, "../..");
  const build = spawn(process.execPath, ["dev/buildConsole.ts"], { cwd: root, stdio: "inherit" });
  const built = once(build, "exit");
  // Unpacks before the first test's timeout starts.
  if (!process.env.CONSOLE_BROWSER) await unpackChromium();
  await built;
}

/**
 * Provides one PostgreSQL server with a migrated template that each test file copies, and one server host per
 * Jest worker.
 * The server is TEST_DATABASE_URL if set, else a container of @databases/pg-test if Docker has its image, else
 * the embedded server.
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
  if (!process.env.TEST_DATABASE_URL && !hasDockerImage()) {
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
        // The secret check reads all statements at the end, so none may be evicted.
        "-c",
        "pg_stat_statements.max=200000",
        // Its databases exist for seconds, nobody replicates them, and no checkpoint is due before the end.
        ...[
          "autovacuum=off",
          "wal_level=minimal",
          "max_wal_senders=0",
          "checkpoint_timeout=1h",
          "max_wal_size=4GB",
        ].flatMap((setting) => ["-c", setting]),
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
  await analyzeCatalog(url.href);
  process.env.TEST_TEMPLATE_DATABASE = template;

  if (process.env.TEST_PGBOUNCER === "1") {
    // The smallest pool with which all test servers work; clients outnumber its connections by far.
    globalThis.pooler = await startPoolerForAll(process.env.TEST_DATABASE_URL, 3);
    process.env.TEST_POOLER_URL = globalThis.pooler.url;
  }

  const { hosts, ports } = await startServerHosts(maxWorkers);
  globalThis.serverHosts = hosts;
  process.env.TEST_SERVER_HOSTS = ports.join(",");
  await browser;
}
