import { expect } from "@jest/globals";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { grafast } from "postgraphile/grafast";
import { developmentPreset } from "../../src/migration/printApi.ts";
import { poolFor } from "../../src/postgres/pools.ts";
import type { SearchTable } from "../../src/query/searchTable.ts";
import type { TestDatabase } from "./database.ts";
import { hasPages } from "../../src/schema/listedTables.ts";
import { contextOf, requestOf, sessionWith } from "./requestOf.ts";

/** The API in this process, with a record of its database statements. */
export interface InProcess {
  /** The searchable table of each connection, as the server reads it from the catalogue. */
  tables: ReadonlyMap<string, SearchTable>;
  /** Executes a document for a caller with these permissions; fails on errors. */
  // Untyped, because each test states the expected data.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  ask(document: string, permissions: readonly string[], variables?: object): Promise<any>;
  /** The API's statements since the last call, without transaction control, settings and read auditing. */
  statements(): string[];
  /** The database notices since the last call. */
  notices(): string[];
  stop(): Promise<void>;
}

/** Builds the server's schema on a database whose tables and settings are final. */
export async function makeInProcess(database: TestDatabase): Promise<InProcess> {
  const pool = poolFor(database.url, "office_server", 4, { responseTimeoutMs: 60_000 });
  const tables = new Map<string, SearchTable>();
  const preset = developmentPreset(pool, "backoffice");
  const { schema, resolvedPreset } = await makeSchema({
    extends: [preset],
    plugins: [collecting(tables)],
  });
  let statements: string[] = [];
  let notices: string[] = [];
  pool.on("connect", (client) => {
    watch(client, (statement) => statements.push(statement));
    client.on("notice", ({ message }) => notices.push(message ?? ""));
  });
  // Closes the connections of the introspection, which are not watched.
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = await pool.connect();
      client.release(true);
    }),
  );
  return {
    tables,
    async ask(source, permissions, variables) {
      const result = await grafast({
        schema,
        source,
        resolvedPreset,
        variableValues: variables as Record<string, unknown>,
        requestContext: contextOf(requestOf(sessionWith(permissions))),
      });
      if (!("data" in result)) throw new Error(JSON.stringify(result));
      expect(result.errors).toBeUndefined();
      return result.data;
    },
    statements() {
      const seen = statements;
      statements = [];
      return seen;
    },
    notices() {
      const seen = notices;
      notices = [];
      return seen;
    },
    stop: () => pool.end(),
  };
}

/** Records the searchable table of each connection. */
function collecting(tables: Map<string, SearchTable>): GraphileConfig.Plugin {
  return {
    name: "CollectingPlugin",
    version: "1.0.0",
    schema: {
      hooks: {
        init(state, build) {
          for (const resource of Object.values(build.pgResources as Record<string, PgResource>))
            if (hasPages(resource))
              tables.set(
                build.inflection.allRowsConnection(resource as never),
                build.searchTable(resource),
              );
          return state;
        },
      },
    },
  };
}

/** Reports every statement on a connection. */
function watch(client: pg.PoolClient, report: (statement: string) => void): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((...args: unknown[]) => {
    const [first] = args;
    const text = typeof first === "string" ? first : (first as { text: string }).text;
    if (!/^\s*(begin|commit|rollback|set |select set_config)|record_read/i.test(text)) report(text);
    return query(...args);
  }) as typeof client.query;
}
