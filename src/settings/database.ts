import { resolve } from "node:path";
import { z } from "zod";
import type { Get } from "./types.ts";
import { postgresUrl, whole } from "./types.ts";

export const databaseSettings = {
  DATABASE_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning: "PostgreSQL 18 for the server; without it (outside production) an embedded one starts",
  },
  DATABASE_REPLICA_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "a hot standby of that database, for the server's login: reads that record nothing are answered there, where it has come as far as the primary; without it all is read from the primary",
  },
  REPLICA_WAIT_MS: {
    schema: whole(0, 10_000),
    fallback: "50",
    meaning:
      "how long a read waits for the replica to come as far as the primary before the primary answers it, in milliseconds",
  },
  DATABASE_WORKER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "the worker's login, a direct connection (not through a transaction pooler); by default DATABASE_URL",
  },
  DATABASE_OWNER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning: "the login that migrates and makes test tenants; by default DATABASE_URL",
  },
  DATABASE_SCHEMA: {
    schema: z.string().regex(/^[a-z][a-z0-9_]{0,16}$/, "must be 1 to 17 of a-z, 0-9 and _"),
    fallback: "backoffice",
    meaning: "schema of the application's tables",
  },
  DATABASE_EXTRA_SQL_DIR: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning:
      "folder with `migrations` and `logic` of one's own, applied after those of `db` wherever the product is",
  },
  DATABASE_POOL_SIZE: {
    schema: whole(1, 500),
    fallback: "10",
    meaning:
      "connections that one server process keeps at most, to the primary and to a replica each",
  },
  DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE: {
    schema: whole(0, 10_000),
    fallback: "100",
    meaning:
      "statements that stay prepared on each connection of the server; 0 where DATABASE_URL is that of PgBouncer in transaction mode (then the login must be `office_server` or one of its pair, and DATABASE_WORKER_URL and DATABASE_OWNER_URL direct ones)",
  },
  DATABASE_STATEMENT_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "15000",
    meaning:
      "longest time one SQL statement of a request may run, in milliseconds; a connection without an answer for two seconds longer is given up, and the request answered 503",
  },
  DATABASE_MAINTENANCE_TIMEOUT_MS: {
    schema: whole(1_000, 604_800_000),
    fallback: "3600000",
    meaning:
      "how long the database may give no answer to a migration or a command of operators (`db:backup`, `db:restore`, `audit:verify` and others), as while it builds an index, in milliseconds",
  },
} as const;

function replicaConfig(get: Get<typeof databaseSettings>) {
  const url = get("DATABASE_REPLICA_URL");
  return url === undefined ? null : { url, waitMs: get("REPLICA_WAIT_MS") };
}

export function databaseConfig(get: Get<typeof databaseSettings>) {
  const url = get("DATABASE_URL");
  const extraSqlDir = get("DATABASE_EXTRA_SQL_DIR");
  return {
    url,
    replica: replicaConfig(get),
    workerUrl: get("DATABASE_WORKER_URL") ?? url,
    ownerUrl: get("DATABASE_OWNER_URL") ?? url,
    schema: get("DATABASE_SCHEMA"),
    extraSqlDir: extraSqlDir === undefined ? undefined : resolve(extraSqlDir),
    poolSize: get("DATABASE_POOL_SIZE"),
    preparedStatements: get("DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE"),
    statementTimeoutMs: get("DATABASE_STATEMENT_TIMEOUT_MS"),
    maintenanceTimeoutMs: get("DATABASE_MAINTENANCE_TIMEOUT_MS"),
  };
}
