import type { GraphQLField } from "graphql";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Bound, checkCursor } from "../paging/cursors.ts";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { type Page, type PageArguments, readPage } from "../paging/pageArguments.ts";
import { opposite, pageConditions } from "../paging/pageConditions.ts";
import { type BindNth, type Bindable, bindValue } from "../query/bind.ts";
import type { SearchTable } from "../query/catalogue.ts";
import { type Condition, compileQuery } from "../query/compile.ts";
import { type SearchKind, searchKind } from "../query/searchKind.ts";
import { parseBoundQuery } from "../query/boundValues.ts";
import type { PagedRows, Rows } from "./sqlJsonField.ts";
import { type Part, readLimit, shapeOf } from "./listJson.ts";
import { orderColumns } from "./orderColumns.ts";
import type { Row } from "./row.ts";
import { UnsupportedSelection, assertOnly } from "./selection.ts";

/** Resolved arguments: the SQL that they need and its parameters. */
export interface Shaped {
  /** Equal for all arguments that the same SQL serves. */
  shape: string;
  /** The parameters. */
  values: readonly Bindable[];
  /** Whether the same arguments always resolve to the same values; relative dates do not. */
  isLasting: boolean;
}

/** A page of rows; `bind` inserts the nth parameter. */
export interface AskedPage {
  rows: Rows;
  /** The order of the page. */
  order: readonly OrderColumn[];
  /** Whether the page is read from its end, in the reverse order. */
  backwards: boolean;
  /** The rows of the page. */
  part: (bind: BindNth) => Part & { first: number };
  /** The condition of all matching rows. */
  matching: (bind: BindNth) => ((row: Row) => SQL) | null;
  /** Whether the total is requested. */
  counts: boolean;
  /** Whether a search decides which rows match, and the planner how they are found. */
  isPlannedSearch: boolean;
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
): Shaped & { page: AskedPage } {
  const {
    query,
    queryValues,
    orderBy,
    first,
    last,
    offset,
    before,
    after,
    includeTotalCount,
    ...rest
  } = args;
  assertOnly(rest);
  // Coercion has checked the types.
  const page = readPage({ first, last, offset, before, after } as PageArguments);
  const order = orderColumns(field, orderBy, rows);
  if (query == null && queryValues != null)
    throw new UnsupportedSelection("queryValues without query");
  const search = query == null || !table ? null : searchOf(table, query as string, queryValues);
  const ends = endsOf(page, order, rows.resource);
  const size = page.first ?? page.last ?? 0;
  // Pages of text searches are found in steps, by one plan for all.
  const isPlannedSearch = search !== null && (search.kind === "values" || !seeks);
  const backwards = page.first === null;
  const counts = includeTotalCount === true;

  // Parameters in this order: offset, search, cursors.
  const values: Bindable[] = [page.offset ?? 0, ...(search?.values ?? [])];
  const starts = ends.map(
    (end) => values.push(...end.values.map(([, value]) => value)) - end.values.length,
  );

  const searched = (bind: BindNth) =>
    search &&
    ((row: SQL) => {
      let n = 1;
      return search.condition(row, () => bind(n++));
    });
  const matching = (bind: BindNth) => {
    const matches = searched(bind);
    return matches && (({ alias }: Row) => matches(alias));
  };
  const conditions = (bind: BindNth, row: SQL): SQL[] => {
    const matches = searched(bind);
    const bounds = ends.map((end, index): Bound => {
      const start = starts[index] ?? 0;
      return { ...end, bind: (n) => bind(start + n) };
    });
    const { resource } = rows;
    const asked = search && table && matches ? { table, kind: search.kind, matches } : null;
    return pageConditions({ resource, page, order, bounds, search: asked, isOfAll: seeks }, row);
  };
  const part = (bind: BindNth): ReturnType<AskedPage["part"]> => ({
    order: backwards ? order.map(opposite) : order,
    first: size,
    ...(page.offset ? { skip: { by: bind(0), reach: readLimit(size, page.offset) } } : {}),
    ...(search || ends.length > 0
      ? { condition: ({ alias }) => allOf(conditions(bind, alias)) }
      : {}),
  });
  return {
    shape: [
      shapeOf(order, size, page.offset),
      backwards ? "from the end" : "",
      counts ? "counted" : "",
      // Null needs a comparison of a different form.
      ...ends.map(
        (end) => end.name + JSON.stringify(end.values.map(([, value]) => value === null)),
      ),
      search?.shape,
    ].join(" "),
    values,
    isLasting: search?.isLasting ?? true,
    page: { rows, order, backwards, counts, part, matching, isPlannedSearch },
  };
}

/** The start and end of a page from its cursors. @throws PublicError */
function endsOf(
  page: Page,
  order: readonly OrderColumn[],
  resource: PgResource,
): Omit<Bound, "bind">[] {
  return (["after", "before"] as const).flatMap((name) => {
    const values = page[name];
    if (!values) return [];
    checkCursor(name, values, order, resource);
    return [{ name, values }];
  });
}

function allOf(conditions: readonly SQL[]): SQL {
  return sql.join(
    conditions.map((condition) => sql.parens(condition, true)),
    " and ",
  );
}

/** A compiled query text. */
interface Search {
  condition: Condition;
  kind: SearchKind;
  shape: string;
  values: readonly Bindable[];
  /** False for relative dates. */
  isLasting: boolean;
}

function searchOf(table: SearchTable, text: string, bound: unknown): Search {
  let usesClock = false;
  const node = parseBoundQuery(text, bound);
  const condition = compileQuery(node, table, () => {
    usesClock = true;
    return new Date();
  });
  const values: Bindable[] = [];
  const row = sql.identifier("row");
  const example = condition(row, (value) => {
    values.push(value);
    return bindValue(value);
  });
  return {
    condition,
    kind: searchKind(node, table),
    shape: sql.compile(example).text,
    values,
    isLasting: !usesClock,
  };
}
