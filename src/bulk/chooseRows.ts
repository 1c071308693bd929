import type { PgClient, PgResource } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { checkGuard } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { searchOf } from "../paging/connectionSearch.ts";
import type { Condition } from "../query/compile.ts";
import { tableGuard } from "../schema/listedTables.ts";
import { type TableResource, mostBulkRows } from "../schema/tableMutations.ts";

/** The arguments of a mutation of many rows, and its caller. */
export interface Wanted {
  ids: string[] | null | undefined;
  query: string | null | undefined;
  queryValues: unknown;
  input?: Record<string, unknown>;
  dryRun: boolean;
  requestContext: RequestInfo;
}

/** The rows that a mutation is about. A query's condition is checked again under the locks. */
export interface Chosen {
  ids: string[];
  matches: Condition | null;
}

/** @throws PublicError unless exactly one of `ids` and `query` names some rows, and not too many */
export async function chooseRows(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  { ids, query, queryValues, requestContext }: Wanted,
): Promise<Chosen> {
  if (ids != null && query != null)
    throw badUserInput("Give either `ids` or `query`, not both", { path: ["query"] });
  if (ids != null) {
    if (queryValues != null)
      throw badUserInput("queryValues: there is no `query`", { path: ["queryValues"] });
    if (ids.length === 0) throw badUserInput("ids: name at least one row", { path: ["ids"] });
    if (ids.length > mostBulkRows)
      throw badUserInput(`ids: at most ${mostBulkRows} rows at once, not ${ids.length}`, {
        path: ["ids"],
      });
    return { ids: [...new Set(ids)], matches: null };
  }
  if (query == null)
    throw badUserInput("Give `ids` or `query`: without them no row is changed", { path: ["ids"] });
  if (query.trim() === "")
    throw badUserInput("query: an empty search changes nothing (`id:*` matches every row)", {
      path: ["query"],
    });
  checkGuard(tableGuard(table), requestContext);
  const { matches } = searchOf(build.searchTable(table as PgResource))(query, queryValues);
  const found = await idsOf(
    client,
    table,
    (row) => sql`${matches(row)} limit ${sql.literal(mostBulkRows + 1)}`,
  );
  if (found.length > mostBulkRows)
    throw badUserInput(
      `query: more than ${mostBulkRows} rows match, the most that change at once`,
      {
        path: ["query"],
      },
    );
  return { ids: found, matches };
}

/** The ids of rows by the end of a statement after its `where`. */
export async function idsOf(
  client: PgClient,
  table: TableResource,
  condition: (row: SQL) => SQL,
): Promise<string[]> {
  const row = sql.identifier(Symbol("row"));
  const { text, values } = sql.compile(
    sql`select ${row}.id from ${table.from as SQL} as ${row} where ${condition(row)}`,
  );
  const { rows } = await client.query<{ id: string }>({ text, values: [...values] });
  return rows.map(({ id }) => id);
}

/** The condition that a row has one of the ids. */
export const isOneOf = (row: SQL, ids: readonly string[]) =>
  sql`${row}.id = any (${sql.value(ids)}::uuid[])`;

/** The condition that a row is still one of those that were chosen. */
export const isChosen = (row: SQL, { ids, matches }: Chosen) =>
  matches ? sql`${isOneOf(row, ids)} and ${matches(row)}` : isOneOf(row, ids);
