import { resolve } from "node:path";
import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { postgresUrl, integer } from "./types.ts";

export const databaseSettings = {
  DATABASE_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "address of PostgreSQL 18 with the server's login; required in production, an embedded PostgreSQL starts elsewhere without it",
    example: "postgres://office_server:PASSWORD@db:5432/office",
    usedBy: ["server", "worker", "migration", "npm start"],
  },
  DATABASE_REPLICA_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "address of a hot standby with the server's login; reads that are not audited run there once it has caught up with the primary",
    usedBy: ["server"],
  },
  DATABASE_WORKER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "address with the worker's login, a direct connection (not through a transaction pooler)",
    defaultNote: "DATABASE_URL",
    usedBy: ["worker", "migration"],
  },
  DATABASE_OWNER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning: "address with the login that migrates and creates test tenants",
    defaultNote: "DATABASE_URL",
    usedBy: ["migration", "server"],
  },
  DATABASE_EXTRA_SQL_DIR: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning:
      "folder with further `migrations` and `logic`, applied after those of `db`, and a `prepare.sql` for extensions and roles",
    usedBy: ["migration", "server", "npm start"],
  },
  DATABASE_POOL_SIZE: {
    schema: integer(1, 500),
    fallback: "10",
    meaning:
      "largest number of connections of one server process to the primary, and to the replica",
    usedBy: ["server"],
  },
  DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE: {
    schema: integer(0, 10_000),
    fallback: "100",
    meaning:
      "prepared statements on each connection of the server; 0 is required behind PgBouncer in transaction mode, where the login must be `office_server` or one of its pair",
    usedBy: ["server"],
  },
  DATABASE_STATEMENT_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    fallback: "15000",
    meaning:
      "milliseconds that an SQL statement of a request may run; a connection that is silent for two seconds longer is closed, and the request gets 503",
    usedBy: ["server"],
  },
  DATABASE_MAINTENANCE_TIMEOUT_MS: {
    schema: integer(1_000, 604_800_000),
    fallback: "3600000",
    meaning:
      "milliseconds that a statement of a migration or of an operator's command may run, such as one that builds an index",
    usedBy: ["migration"],
  },
} as const;

export function databaseConfig(
  get: GetSetting<typeof databaseSettings>,
  { schema, replicaWaitMs }: Constants["database"],
) {
  const url = get("DATABASE_URL");
  const replicaUrl = get("DATABASE_REPLICA_URL");
  const extraSqlDir = get("DATABASE_EXTRA_SQL_DIR");
  return {
    url,
    replica: replicaUrl === undefined ? null : { url: replicaUrl, waitMs: replicaWaitMs },
    workerUrl: get("DATABASE_WORKER_URL") ?? url,
    ownerUrl: get("DATABASE_OWNER_URL") ?? url,
    schema,
    extraSqlDir: extraSqlDir === undefined ? undefined : resolve(extraSqlDir),
    poolSize: get("DATABASE_POOL_SIZE"),
    preparedStatements: get("DATAPLAN_PG_PREPARED_STATEMENT_CACHE_SIZE"),
    statementTimeoutMs: get("DATABASE_STATEMENT_TIMEOUT_MS"),
    maintenanceTimeoutMs: get("DATABASE_MAINTENANCE_TIMEOUT_MS"),
  };
}
