import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { SearchTable } from "../query/searchTable.ts";
import type { SearchKind } from "../query/searchKind.ts";
import { type Bound, cursorRanges } from "./cursors.ts";
import { type OrderColumn, opposite, singleKey } from "./defaultOrder.ts";
import { anyOf, firstRowsSql, isReadInRanges } from "./indexRanges.ts";
import { type Page, rowLimitOfPage } from "./pageArguments.ts";
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

/** The rows that a page is read from. */
export interface PageRows {
  conditions: SQL[];
  /**
   * The ranges of an index that have them, none for the whole table; null where no index has the rows in their order.
   */
  ranges: SQL[] | null;
}

/** The rows of a page, from its start on. */
export function pageRows(request: RowsRequest, row: SQL): PageRows {
  const { resource, page, order, bounds, search, isWholeTable } = request;
  const matches = search ? [search.matches(row)] : [];
  const boundsOf = (of: SQL) => bounds.map((bound) => cursorRanges(bound, order, resource, of));
  // The foreign key finds the rows of a parent row.
  if (!isWholeTable) return { conditions: [...matches, ...boundsOf(row).map(anyOf)], ranges: null };
  // A page with two cursors, or with one at its end, is read from the end of the table.
  const start = page.first === null ? "before" : "after";
  const startsAtCursor = bounds.length === 1 && bounds[0]?.name === start;
  const startOf = (of: SQL) =>
    startsAtCursor
      ? { conditions: [], ranges: boundsOf(of).flat() }
      : { conditions: boundsOf(of).map(anyOf), ranges: [] };
  if (search && search.kind !== "values" && (page.first ?? page.last ?? 0) > 0) {
    const rowLimit = rowLimitOfPage(page);
    const found = textSearchCondition(
      { ...search, resource, order: readingOrder(request), rowLimit, startOf },
      row,
    );
    if (found) return { conditions: [found], ranges: null };
  }
  const { conditions, ranges } = startOf(row);
  return { conditions: [...matches, ...conditions], ranges };
}

/** The most rows that are faster to find by ranges of an index and then read by id than to sort. */
const maxReadById = 16_384;

/** The conditions for the rows of a page, for a statement that selects them all and sorts them. */
export function pageConditions(request: RowsRequest, row: SQL): SQL[] {
  const { resource, page } = request;
  const { conditions, ranges } = pageRows(request, row);
  if (ranges === null) return conditions;
  const key = singleKey(resource);
  const limit = rowLimitOfPage(page);
  const order = readingOrder(request);
  if (key !== null && limit <= maxReadById && (ranges.length > 1 || isReadInRanges(order))) {
    const id = sql.identifier(key);
    const first = sql.identifier(Symbol("first"));
    const rows = pageRows(request, first);
    const ids = firstRowsSql(
      {
        from: resource.from as SQL,
        row: first,
        columns: sql`${first}.${id}`,
        conditions: rows.conditions,
        order,
      },
      rows.ranges ?? [],
      { limit },
    );
    return [sql`${row}.${id} = any (array(${ids}))`];
  }
  return ranges.length > 0 ? [...conditions, anyOf(ranges)] : conditions;
}

/** The order of the rows as they are read: from the end for the last ones. */
function readingOrder({ page, order }: RowsRequest): readonly OrderColumn[] {
  return page.first === null ? order.map(opposite) : order;
}
