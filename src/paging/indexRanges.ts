import { type SQL, sql } from "postgraphile/pg-sql2";
import { type OrderColumn, orderSql } from "./defaultOrder.ts";

// An index has rows without a value after the greatest value, so its reverse has them first. A descending order that has
// them last is read in two ranges of the index. So are the rows after a cursor beside them.

/** Whether the order differs from an index of its columns in the place of the rows without a value. */
export function isReadInRanges([first]: readonly OrderColumn[]): boolean {
  if (!first?.nulls || first.codec) return false;
  return (first.direction === "ASC") !== (first.nulls === "LAST");
}

/** Rows of a table in an order. */
export interface OrderedRows {
  from: SQL;
  row: SQL;
  columns: SQL;
  conditions: readonly SQL[];
  order: readonly OrderColumn[];
}

/**
 * Selects the first rows of ranges of an index, as {@link cursorRanges} returns them; without ranges, those of the whole
 * table.
 */
export function firstRowsSql(
  rows: OrderedRows,
  given: readonly SQL[],
  { limit, offset = 0 }: { limit: number; offset?: number },
): SQL {
  const { row, conditions, order } = rows;
  const skipped = offset === 0 ? sql.blank : sql` offset ${sql.literal(offset)}`;
  const part = sql` limit ${sql.literal(limit)}${skipped}`;
  const ranges = given.length === 0 && isReadInRanges(order) ? rangesOfTable(order, row) : given;
  if (ranges.length === 0) return sql`${orderedSql(rows)}${part}`;
  const parts = ranges.map((range) =>
    orderedSql({ ...rows, conditions: [...conditions, range], order: orderInRange(order) }),
  );
  const [only, ...others] = parts;
  if (only && others.length === 0) return sql`${only}${part}`;
  // PostgreSQL reads a range only where those before have too few rows.
  const limited = parts.map((one) => sql`(${one} limit ${sql.literal(limit + offset)})`);
  return sql`${sql.join(limited, " union all ")}${part}`;
}

function rangesOfTable([first]: readonly OrderColumn[], row: SQL): SQL[] {
  const column = sql`${row}.${sql.identifier(first?.attribute ?? "")}`;
  const ranges = [sql`${column} is not null`, sql`${column} is null`];
  return first?.nulls === "FIRST" ? ranges.toReversed() : ranges;
}

/** The order within a range: its rows all have a value in the first column, or all have none. */
function orderInRange([first, ...rest]: readonly OrderColumn[]): OrderColumn[] {
  if (!first) return [];
  const { nulls: _nulls, ...column } = first;
  return [column, ...rest];
}

/** Selects rows in an order. */
export function orderedSql({ from, row, columns, conditions, order }: OrderedRows): SQL {
  const where = conditions.length > 0 ? sql` where ${allOf(conditions)}` : sql.blank;
  const ordered = order.length > 0 ? sql` order by ${orderSql(order, row)}` : sql.blank;
  return sql`select ${columns} from ${from} as ${row}${where}${ordered}`;
}

/** The conjunction of one or several conditions. */
export function allOf(conditions: readonly SQL[]): SQL {
  return sql.join(
    conditions.map((condition) => sql.parens(condition, true)),
    " and ",
  );
}

/** The disjunction of conditions. */
export function anyOf(conditions: readonly SQL[]): SQL {
  if (conditions.length === 0) return sql.false;
  return sql.join(
    conditions.map((condition) => sql.parens(condition, true)),
    " or ",
  );
}
