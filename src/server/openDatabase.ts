import type { Pool } from "pg";
import type { RequestConnections } from "../auth/queryAsPrincipal.ts";
import { type Config, ConfigError } from "../config.ts";
import { type Constraint, readConstraints } from "../errors/constraints.ts";
import { preparedStatements } from "../graphile.config.ts";
import { watchPools } from "../metrics/poolMetrics.ts";
import { responseMarginMs } from "../postgres/limitResponseTime.ts";
import { type OpenReplica, openReplica } from "../postgres/openReplica.ts";
import { poolFor } from "../postgres/pools.ts";
import { createSharedConnections } from "../postgres/sharedConnections.ts";
import type { Monitoring } from "./monitoring.ts";
import { lockValidSchema, warnOfInsecureSettings } from "./startChecks.ts";

/** How long a statement that creates or removes a test tenant may take, in milliseconds. */
const testTenantTimeoutMs = 60_000;

/** The connections of a server, and the data that it reads from the catalogue at the start. */
export interface ServerDatabase {
  /** Acts as `office_server`. */
  pool: Pool;
  /** Acts as `office_owner`; null unless test mode is on. */
  ownerPool: Pool | null;
  sharedConnections: RequestConnections;
  replica: OpenReplica | null;
  constraints: ReadonlyMap<string, Constraint>;
  /** Lets migrations run again. To be called when the GraphQL schema is built. */
  unlockSchema(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to the database, waits until it is up, and locks its schema against migrations.
 * @throws ConfigError when DATABASE_URL is missing or the schema violates a rule
 * @throws DatabaseVersionError
 */
export async function openDatabase(
  config: Config,
  monitoring: Monitoring,
): Promise<ServerDatabase> {
  const { url, ownerUrl, schema: tenant, poolSize, statementTimeoutMs } = config.database;
  if (!url)
    throw new ConfigError([
      "DATABASE_URL is required; `npm start` provides an embedded PostgreSQL by itself",
    ]);
  const { registry, systems, log } = monitoring;
  const responseTimeoutMs = statementTimeoutMs + responseMarginMs;
  const pool = poolFor(url, "office_server", poolSize, {
    responseTimeoutMs,
    connectionTimeoutMillis: 5_000,
    // An idle server stays visible to the administrator, who sees by it that its login is in use.
    min: 1,
    pipeline: true,
  });
  const sharedConnections = {
    reads: createSharedConnections(pool),
    changes: createSharedConnections(pool),
  };
  const ownerPool =
    config.testMode && ownerUrl
      ? poolFor(ownerUrl, "office_owner", 4, {
          responseTimeoutMs: Math.max(responseTimeoutMs, testTenantTimeoutMs),
        })
      : null;
  const prepared = preparedStatements(config);
  const replica = openReplica({ config, primary: pool, prepared, ...monitoring });
  const pools = { requests: pool, ...(replica && { replica: replica.pool }) };
  watchPools(registry, pools, { requests: Object.values(sharedConnections) });
  systems.add({
    name: "database",
    storage: "database",
    check: async () => {
      await pool.query("select 1");
      return undefined;
    },
  });

  const unlockSchema = await lockValidSchema(url, { pool, tenant, log });
  await warnOfInsecureSettings(config, { pool, tenant, log });
  const constraints = await readConstraints(pool, tenant);
  return {
    pool,
    ownerPool,
    sharedConnections,
    replica,
    constraints,
    unlockSchema,
    async close() {
      await Promise.all([pool.end(), ownerPool?.end(), replica?.pool.end()]);
    },
  };
}
