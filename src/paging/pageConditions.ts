import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/searchTable.ts";
import type { SearchKind } from "../query/searchKind.ts";
import { type Bound, type Seek, cursorCondition } from "./cursors.ts";
import type { OrderColumn } from "./defaultOrder.ts";
import { type Page, rowLimitOfPage, seekOf } from "./pageArguments.ts";
import { textSearchCondition } from "./textSearchPage.ts";

/** A page of a connection. */
export interface RowsRequest {
  resource: PgResource;
  page: Page;
  order: readonly OrderColumn[];
  /** Its cursors. */
  bounds: readonly Bound[];
  search: { table: SearchTable; kind: SearchKind; matches: (row: SQL) => SQL } | null;
  /** Whether the page is of the whole table and not of a parent row. */
  isWholeTable: boolean;
}

/** The conditions for the rows of a page, used by Grafast and by the SQL-JSON path. */
export function pageConditions(request: RowsRequest, row: SQL): SQL[] {
  const { resource, page, order, bounds, search, isWholeTable } = request;
  const beyond = (of: SQL, seek: Seek | null) =>
    bounds.map((bound) => cursorCondition(bound, order, resource, of, seek));
  const matches = search?.matches ?? null;
  const size = page.first ?? page.last ?? 0;
  if (search && search.kind !== "values" && isWholeTable && size > 0) {
    const start = seekOf(page, null);
    const seekWithin = (rows: number | null) =>
      start && rows !== null ? { ...start, limit: sql.literal(rows) } : null;
    const found = textSearchCondition(
      {
        ...search,
        resource,
        order: page.first === null ? order.map(opposite) : order,
        rowLimit: rowLimitOfPage(page),
        beyond: (of, rows) => beyond(of, seekWithin(rows)),
      },
      row,
    );
    if (found) return [found];
  }
  const seek = isWholeTable ? seekOf(page, matches) : null;
  return [...(matches ? [matches(row)] : []), ...beyond(row, seek)];
}

/** The reverse order, for pages read from their end. */
export function opposite(column: OrderColumn): OrderColumn {
  return { ...column, direction: column.direction === "ASC" ? "DESC" : "ASC" };
}
