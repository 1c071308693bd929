import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/searchTable.ts";
import type { SearchKind } from "../query/searchKind.ts";
import { type Bound, type Seek, cursorCondition } from "./cursors.ts";
import type { OrderColumn } from "./defaultOrder.ts";
import { type Page, reachOfPage, seekOf } from "./pageArguments.ts";
import { textSearchPage } from "./jsonPageStep.ts";

/** A page of a connection. */
export interface AskedRows {
  resource: PgResource;
  page: Page;
  order: readonly OrderColumn[];
  /** Its cursors. */
  bounds: readonly Bound[];
  search: { table: SearchTable; kind: SearchKind; matches: (row: SQL) => SQL } | null;
  /** Whether the page is of the whole table and not of a parent row. */
  isOfAll: boolean;
}

/** The conditions for the rows of a page, used by Grafast and by the SQL-JSON path. */
export function pageConditions(asked: AskedRows, row: SQL): SQL[] {
  const { resource, page, order, bounds, search, isOfAll } = asked;
  const beyond = (of: SQL, seek: Seek | null) =>
    bounds.map((bound) => cursorCondition(bound, order, resource, of, seek));
  const matches = search?.matches ?? null;
  const size = page.first ?? page.last ?? 0;
  if (search && search.kind !== "values" && isOfAll && size > 0) {
    const start = seekOf(page, null);
    const seekWithin = (rows: number | null) =>
      start && rows !== null ? { ...start, limit: sql.literal(rows) } : null;
    const found = textSearchPage(
      {
        ...search,
        resource,
        along: page.first === null ? order.map(opposite) : order,
        reach: reachOfPage(page),
        beyond: (of, rows) => beyond(of, seekWithin(rows)),
      },
      row,
    );
    if (found) return [found];
  }
  const seek = isOfAll ? seekOf(page, matches) : null;
  return [...(matches ? [matches(row)] : []), ...beyond(row, seek)];
}

/** The reverse order, for pages read from their end. */
export function opposite({ attribute, direction }: OrderColumn): OrderColumn {
  return { attribute, direction: direction === "ASC" ? "DESC" : "ASC" };
}
