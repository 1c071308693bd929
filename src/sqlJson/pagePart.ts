import type { GraphQLField } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Bound, checkCursor } from "../paging/cursors.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { type CompiledSearch, searchOfArguments } from "../paging/connectionSearch.ts";
import { allOf } from "../paging/indexRanges.ts";
import { type PageArguments, readPage } from "../paging/pageArguments.ts";
import { type PageRows, pageRows } from "../paging/pageConditions.ts";
import { type BindNth, type Bindable, bindValue } from "../query/bind.ts";
import type { PagedRows, Rows } from "./sqlJsonField.ts";
import { type Part, readLimit, shapeOf, type Row } from "./rows.ts";
import { orderColumns } from "./order.ts";
import { assertOnly } from "./selection.ts";

/** Resolved arguments: the SQL that they need and its parameters. */
export interface ResolvedArguments {
  /** Equal for all arguments that the same SQL serves. */
  shape: string;
  /** The parameters. */
  values: readonly Bindable[];
  /** Whether the same arguments always resolve to the same values; relative dates do not. */
  isCacheable: boolean;
}

/** A page of rows; `bind` inserts the nth parameter. */
export interface RequestedPage {
  rows: Rows;
  /** The order of the page. */
  order: readonly OrderColumn[];
  /** The rows of the page. */
  part: (bind: BindNth) => Part & { first: number };
  /** The condition of all matching rows. */
  matching: (bind: BindNth) => ((row: Row) => SQL) | null;
  /** Whether the total is requested. */
  counts: boolean;
  /** Whether a search decides which rows match, and the planner how they are found. */
  isSearchLeftToPlanner: boolean;
}

/**
 * Resolves the arguments of a connection; `seeks` where its rows belong to no other row. @throws Error where the
 * request is wrong or Grafast has to answer
 */
export function pagePart(
  { rows, table }: PagedRows,
  field: GraphQLField<unknown, unknown>,
  args: Record<string, unknown>,
  seeks: boolean,
): ResolvedArguments & { page: RequestedPage } {
  const { orderBy, first, offset, after, includeTotalCount, ...rest } = args;
  assertOnly(rest, table ? ["query", "queryValues", ...table.filters.keys()] : []);
  // Coercion has checked the types. Pages from the end belong to Grafast.
  const page = readPage({ first, offset, after } as PageArguments);
  const order = orderColumns(field, orderBy, rows);
  const search = table && parameterizeSearch(searchOfArguments(table, args));
  const size = page.first ?? 0;
  // Pages of text searches are found in steps, by one plan for all.
  const isSearchLeftToPlanner = search !== null && (search.kind === "values" || !seeks);
  const counts = includeTotalCount === true;

  // Parameters in this order: offset, search, cursor.
  const values: Bindable[] = [page.offset ?? 0, ...(search?.values ?? [])];
  const cursor = page.after;
  if (cursor) checkCursor("after", cursor, order, rows.resource);
  const start = values.length;
  if (cursor) values.push(...cursor.map(([, value]) => value));

  const searched = (bind: BindNth) =>
    search &&
    ((row: SQL) => {
      let n = 1;
      return search.matches(row, () => bind(n++));
    });
  const matching = (bind: BindNth) => {
    const matches = searched(bind);
    return matches && (({ alias }: Row) => matches(alias));
  };
  const read = (bind: BindNth, row: SQL): PageRows => {
    const matches = searched(bind);
    const bounds: Bound[] = cursor
      ? [{ name: "after", values: cursor, bind: (n) => bind(start + n) }]
      : [];
    const { resource } = rows;
    const compiledSearch =
      search && table && matches ? { table, kind: search.kind, matches } : null;
    return pageRows(
      { resource, page, order, bounds, search: compiledSearch, isWholeTable: seeks },
      row,
    );
  };
  // The rows after a cursor are ranges of the table.
  const isSelection = search !== null || (cursor !== null && !seeks);
  const part = (bind: BindNth): ReturnType<RequestedPage["part"]> => ({
    order,
    first: size,
    ranges: ({ alias }) => read(bind, alias).ranges,
    ...(page.offset ? { skip: { by: bind(0), reach: readLimit(size, page.offset) } } : {}),
    ...(isSelection ? { condition: ({ alias }) => allOf(read(bind, alias).conditions) } : {}),
  });
  return {
    shape: [
      shapeOf(order, size, page.offset),
      counts ? "counted" : "",
      // Null needs a comparison of a different form.
      cursor ? `after${JSON.stringify(cursor.map(([, value]) => value === null))}` : "",
      search?.shape,
    ].join(" "),
    values,
    isCacheable: search?.isRelative !== true,
    page: { rows, order, counts, part, matching, isSearchLeftToPlanner },
  };
}

/** A search with its parameters. */
interface ParameterizedSearch extends CompiledSearch {
  shape: string;
  values: readonly Bindable[];
}

function parameterizeSearch(search: CompiledSearch | null): ParameterizedSearch | null {
  if (search === null) return null;
  const values: Bindable[] = [];
  const example = search.matches(sql.identifier("row"), (value) => {
    values.push(value);
    return bindValue(value);
  });
  return { ...search, shape: sql.compile(example).text, values };
}
