import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expectNoSecretsIn } from "./secrets.ts";

/** A copy of the migrated template database. */
export interface TestDatabase {
  /** Connection URL of the superuser. */
  url: string;
  /** Superuser connections to the main schema. */
  pool: pg.Pool;
  /** Drops the database; throws if it contains a secret. */
  drop(): Promise<void>;
}

const root = join(import.meta.dirname, "../..");

function required(name: string): string {
  const value = process.env[name];
  if (!value)
    throw new Error(
      `${name} is not set: run the tests with jest, whose global setup creates the database`,
    );
  return value;
}

async function admin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: required("TEST_DATABASE_URL") });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Copies the migrated template. Call in `beforeAll`, and `drop` in `afterAll`. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await admin(
    `create database ${name} template ${required("TEST_TEMPLATE_DATABASE")} strategy file_copy`,
  );
  const url = new URL(required("TEST_DATABASE_URL"));
  url.pathname = `/${name}`;
  const pool = new pg.Pool({
    connectionString: url.href,
    max: 10,
    // Starting a parallel worker takes longer than a test's query.
    options: "-c search_path=backoffice,extensions,pg_temp -c max_parallel_workers_per_gather=0",
  });
  pool.on("error", () => undefined);
  // `create database ... template` does not copy the privileges on the database itself.
  await pool.query(await readFile(join(root, "db/prepare.sql"), "utf8"));
  return {
    url: url.href,
    pool,
    async drop() {
      try {
        await expectNoSecretsIn(pool);
      } finally {
        await pool.end();
        await admin(`drop database if exists ${name} with (force)`);
      }
    },
  };
}

/** A pool for the main schema that ignores connection errors, because the test may stop its server. */
export function mainSchemaPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/** Runs `work` in a transaction that is rolled back afterwards. */
export async function inTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    return await work(client);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

/** The caller of a transaction. */
export interface Actor {
  userId?: string | null;
  permissions?: readonly string[];
  /** The caller uses an API token with scopes. */
  scoped?: boolean;
  /** The caller uses an API token without scopes. */
  unlimited?: boolean;
}

/** Sets the role and the request settings for the rest of the transaction, as the server does. */
export async function actAs(client: pg.ClientBase, actor: Actor): Promise<void> {
  const settings: Record<string, string> = {
    "office.user_id": actor.userId === undefined ? randomUUID() : (actor.userId ?? ""),
    "office.session_id": actor.scoped || actor.unlimited ? "" : randomUUID(),
    "office.permissions": (actor.permissions ?? []).join(","),
    "office.scoped": String(actor.scoped ?? false),
    "office.correlation_id": "test",
    "office.ip_address": "192.0.2.1",
    "office.user_agent": "jest",
    "office.source": "api",
    "office.invitation_days": "7",
    role: "office_api",
  };
  for (const [name, value] of Object.entries(settings))
    await client.query("select set_config($1, $2, true)", [name, value]);
}
