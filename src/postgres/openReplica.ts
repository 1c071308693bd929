import type { Pool } from "pg";
import type { Registry } from "prom-client";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { poolFor } from "./pools.ts";
import type { ExternalSystems } from "../health/externalSystems.ts";
import { lagOf } from "./replicaLag.ts";
import { watchReplica } from "./replicaMetrics.ts";
import { responseMarginMs } from "./limitResponseTime.ts";
import { makeReplica, type Replica } from "./replica.ts";

interface OpenReplicaOptions {
  config: Pick<Config, "database">;
  primary: Pool;
  /** How many named statements stay prepared on a connection. */
  prepared: number;
  registry: Registry;
  systems: ExternalSystems;
  log: Logger;
}

/** A replica and its pool, which the caller ends. */
export interface OpenReplica {
  reads: Replica;
  pool: Pool;
}

/** Opens the configured replica; null where none is configured. It may be down. */
export function openReplica(options: OpenReplicaOptions): OpenReplica | null {
  const { config, primary, prepared, registry, systems, log } = options;
  const { replica: named, poolSize, schema: tenant, statementTimeoutMs } = config.database;
  if (!named) return null;
  // Short: the primary answers when the replica does not.
  const pool = poolFor(named.url, "office_server", poolSize, {
    responseTimeoutMs: statementTimeoutMs + responseMarginMs,
    connectionTimeoutMillis: 500,
  });
  const reads = makeReplica(pool, { waitMs: named.waitMs, statementTimeoutMs, prepared });
  const lag = () => lagOf(primary, pool, tenant);
  watchReplica({ registry, replica: reads, lag, log });
  systems.add({
    name: "replica",
    circuit: () => reads.circuit(),
    check: async () => {
      const { bytes, seconds } = await lag();
      return bytes === 0 ? undefined : `${bytes} bytes and ${seconds.toFixed(1)} s behind`;
    },
  });
  return { reads, pool };
}
