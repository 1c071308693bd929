import { lexicographicSortSchema, printSchema } from "graphql";
import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { readConfig } from "../config.ts";
import { makePreset } from "../graphile.config.ts";
import { createLog } from "../process/log.ts";

/** The preset of a tenant's API in development; production omits development operations. */
export function developmentPreset(pool: pg.Pool, tenant: string): GraphileConfig.Preset {
  return makePreset({
    // Uses the defaults of development, independent of this machine's environment.
    config: readConfig({}),
    publicUrl: () => "",
    pool,
    tenant,
    tenants: null,
    constraints: new Map(),
    log: createLog("silent"),
  });
}

/** Builds the API of {@link developmentPreset}. */
export async function buildApi(pool: pg.Pool, tenant: string): Promise<GraphQLSchema> {
  const { schema } = await makeSchema(developmentPreset(pool, tenant));
  return schema;
}

/** The API as SDL with descriptions, sorted, so that its diff shows only API changes. */
export function printApi(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
