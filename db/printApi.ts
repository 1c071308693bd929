import { lexicographicSortSchema, printSchema } from "graphql";
import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { readConfig } from "../src/config.ts";
import { makePreset } from "../src/graphile.config.ts";
import { createLog } from "../src/process/log.ts";

/** What makes the API of a tenant as development serves it; production leaves out the operations for development. */
export function developmentPreset(pool: pg.Pool, tenant: string): GraphileConfig.Preset {
  return makePreset({
    // The defaults are those of development; nothing of this machine's environment may show.
    config: readConfig({}),
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

/** The API as a text with descriptions, sorted, so that it changes only where the API does. */
export function printApi(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
