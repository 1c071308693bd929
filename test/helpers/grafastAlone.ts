import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { developmentPreset } from "../../src/migration/printApi.ts";
import type { RequestInfo } from "../../src/auth/identity.ts";
import { poolFor } from "../../src/postgres/pools.ts";
import type { TestDatabase } from "./database.ts";
import { contextOf } from "./requestOf.ts";

/** Executes operations with Grafast alone, as the reference for the SQL-JSON executor. */
export interface GrafastAlone {
  pool: pg.Pool;
  schema: GraphQLSchema;
  answer(
    source: string,
    requestContext: RequestInfo,
    variables: Record<string, unknown>,
  ): Promise<{ data: unknown; errors?: unknown }>;
  stop(): Promise<void>;
}

/** Builds the schema of a test database with the privileges of a server. */
export async function makeGrafastAlone(database: TestDatabase): Promise<GrafastAlone> {
  const pool = poolFor(database.url, "office_server", 4, { responseTimeoutMs: 60_000 });
  const { schema, resolvedPreset } = await makeSchema(developmentPreset(pool, "backoffice"));
  return {
    pool,
    schema,
    async answer(source, requestContext, variableValues) {
      const result = await grafast({
        schema,
        source,
        variableValues,
        resolvedPreset,
        requestContext: contextOf(requestContext),
      });
      if (!("data" in result)) throw new Error(JSON.stringify(result));
      return JSON.parse(JSON.stringify(result)) as { data: unknown; errors?: unknown };
    },
    stop: () => pool.end(),
  };
}
