import { LRUCache } from "lru-cache";
import { sql } from "postgraphile/pg-sql2";
import { badUserInput } from "../errors/PublicError.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";
import type { SearchTable } from "../query/searchTable.ts";
import type { Condition } from "../query/compile.ts";
import { compileQuery } from "../query/compile.ts";
import type { QueryNode, QueryValue } from "../query/ast.ts";
import { parseBoundQuery, requireQueryForValues } from "../query/boundValues.ts";
import { parseFilter } from "../query/filters.ts";
import { type SearchKind, searchKind } from "../query/searchKind.ts";

/** A compiled search. */
export interface CompiledSearch {
  table: SearchTable;
  kind: SearchKind;
  matches: Condition;
  /** The first value that depends on the moment of compilation, such as `today`; null if there is none. */
  relativeTime: QueryValue | null;
}

/** Compiles the text of a search with the values of its `$name`s. @throws PublicError */
export type Search = (text: string, values: unknown) => CompiledSearch;

/** Limits of the cache of compiled searches. Searches with relative dates or bound values are compiled per request. */
const cacheLimits = { max: 500, maxSize: 200_000 };

const searches = new WeakMap<SearchTable, Search>();

/** The search of a table by the query language; every caller shares its cache. */
export function searchOf(table: SearchTable): Search {
  const search = searches.get(table) ?? makeSearch(table);
  searches.set(table, search);
  return search;
}

function makeSearch(table: SearchTable): Search {
  const cache = new LRUCache<string, CompiledSearch>({
    ...cacheLimits,
    sizeCalculation: (_search, text) => text.length + 1,
  });
  return (text, values) => {
    const isCacheable = values == null;
    const known = isCacheable ? cache.get(text) : undefined;
    if (known) return known;
    const search = withPosition(() => compileSearch(parseBoundQuery(text, values), table));
    if (isCacheable && search.relativeTime === null) cache.set(text, search);
    return search;
  };
}

/**
 * Compiles `query`, `queryValues` and the filters among the arguments of a list; null where none of them is given.
 * @throws PublicError
 */
export function searchOfArguments(
  table: SearchTable,
  args: Readonly<Record<string, unknown>>,
): CompiledSearch | null {
  const { query, queryValues } = args;
  if (query == null) requireQueryForValues(queryValues);
  const fromQuery = query == null ? [] : [searchOf(table)(query as string, queryValues)];
  checkPeriod(table, args);
  const filters = [...table.filters.keys()].flatMap((argument) => {
    const node = parseFilter(table, argument, args[argument]);
    return node === null ? [] : [atArgument(argument, () => compileSearch(node, table))];
  });
  return allOf([...fromQuery, ...filters]);
}

/** Rejects a list's arguments `from` and `to` in the wrong order, which would return no rows. */
function checkPeriod({ filters }: SearchTable, args: Readonly<Record<string, unknown>>): void {
  const { from, to } = args;
  if (!filters.has("from") || !filters.has("to")) return;
  // Dates and times in ISO 8601, parsed before.
  if (typeof from === "string" && typeof to === "string" && Date.parse(to) < Date.parse(from))
    throw badUserInput("to must not be before from", { path: ["to"] });
}

function compileSearch(node: QueryNode, table: SearchTable): CompiledSearch {
  let relativeTime: QueryValue | null = null;
  const now = new Date();
  const matches = compileQuery(node, table, (value) => {
    relativeTime ??= value;
    return now;
  });
  return { table, kind: searchKind(node, table), matches, relativeTime };
}

function allOf(searches: readonly CompiledSearch[]): CompiledSearch | null {
  const [first, ...rest] = searches;
  if (!first || rest.length === 0) return first ?? null;
  return {
    table: first.table,
    kind: rest.every(({ kind }) => kind === first.kind) ? first.kind : "texts",
    matches: (row, bind) => {
      const conditions = searches.map(({ matches }) => sql.parens(matches(row, bind), true));
      return sql.join(conditions, " and ");
    },
    relativeTime: searches.find((search) => search.relativeTime)?.relativeTime ?? null,
  };
}

function atArgument<T>(argument: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    throw badUserInput(`${argument}: ${error.reason}`, { path: [argument] });
  }
}

function withPosition<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    const { message, position, length } = error;
    // Counted from 1, as in the message.
    const details = { path: ["query"], position: position + 1, length };
    throw badUserInput(message, details);
  }
}
