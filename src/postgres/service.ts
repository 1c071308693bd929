import type { Pool } from "pg";
import { makePgService } from "postgraphile/adaptors/pg";
import { prepareConnection, requestClient, type RequestClient } from "./requestClient.ts";
import type { Settings } from "./setLocalStatement.ts";

/** Runs work on a connection of the pool with these settings, which end with it. */
export type WithRequestClient = <T>(
  settings: Settings | null,
  work: (client: RequestClient) => Promise<T> | T,
) => Promise<T>;

export function makeWithRequestClient(pool: Pool, prepared: number): WithRequestClient {
  return async (settings, work) => {
    const client = await pool.connect();
    try {
      await prepareConnection(client);
      return await work(requestClient(client, settings ?? {}, { prepared }));
    } finally {
      client.release();
    }
  };
}

/**
 * The database service for PostGraphile: as its `pg` adaptor, with statement, settings and transaction in one round
 * trip.
 */
export function makeService(
  pool: Pool,
  tenant: string,
  prepared: number,
): GraphileConfig.PgServiceConfiguration {
  const service = makePgService({
    pool,
    schemas: [tenant],
    pgSettingsForIntrospection: { role: "office_api" },
  });
  const createWithPgClient = () => makeWithRequestClient(pool, prepared);
  return {
    ...service,
    adaptor: { ...service.adaptor, createWithPgClient: createWithPgClient as never },
  };
}
