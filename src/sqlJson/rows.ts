import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { firstRowsSql, orderedSql } from "../paging/indexRanges.ts";
import { nextPowerOfTwo } from "../paging/pageArguments.ts";
import { type Text, rowSeparator, textSql } from "./jsonText.ts";

/** A row that a statement reads. */
export interface Row {
  alias: SQL;
  column(name: string): SQL;
  /** The row as a value of its table's type. */
  whole(): SQL;
  /** Whether a function returned the row: it has no system columns then. */
  isOfFunction?: boolean;
}

/** A row of a table. */
export function tableRow(name: string): Row {
  const alias = sql.identifier(Symbol(name));
  return {
    alias,
    column: (column) => sql`${alias}.${sql.identifier(column)}`,
    whole: () => alias,
  };
}

/**
 * A row of a subquery over `inner`. The subquery selects the columns that were requested from the row; call
 * {@link columns} last.
 */
export function selectedRow(name: string, inner: Row): Row & { columns(): SQL } {
  const alias = sql.identifier(Symbol(name));
  const requestedColumns = new Set<string>();
  let isWhole = false;
  return {
    alias,
    column(column) {
      requestedColumns.add(column);
      return sql`${alias}.${sql.identifier(column)}`;
    },
    whole() {
      isWhole = true;
      return sql`${alias}.${sql.identifier("whole row")}`;
    },
    columns() {
      const list = [...requestedColumns].map(
        (column) => sql`${inner.column(column)} as ${sql.identifier(column)}`,
      );
      if (isWhole) list.push(sql`${inner.whole()} as ${sql.identifier("whole row")}`);
      return sql.join(list, ", ");
    },
  };
}

/** The rows of a list and their order. */
export interface Part {
  condition?: (row: Row) => SQL;
  order: readonly OrderColumn[];
  first?: number | null;
  /** The ranges of an index that have them, none for the whole table; null where no index has the rows in order. */
  ranges?: (row: Row) => readonly SQL[] | null;
  /** The offset: a parameter, bounded by {@link readLimit} together with `first`. */
  skip?: { by: SQL; reach: number | null };
}

/**
 * The last row that may be read, including the one that shows whether more follow, rounded up to a power of two. Null
 * where nothing is skipped, or all rows are read.
 */
export function readLimit(first: number | null, offset: number | null): number | null {
  return !offset || first === null ? null : nextPowerOfTwo(offset + first + 1);
}

/** Equal for all parts of a list that the same SQL reads. */
export function shapeOf(
  order: readonly OrderColumn[],
  first: number | null,
  offset: number | null,
): string {
  const skipped = offset ? `skip ${readLimit(first, offset)}` : "all";
  const columns = order.map(({ attribute, direction }) => attribute + direction);
  return [first, skipped, ...columns].join(" ");
}

/** The JSON of a list of objects; with `isSplittable`, with {@link rowSeparator} after each. */
export function listJson(
  from: SQL,
  name: string,
  object: (row: Row) => Text,
  part: Part,
  isSplittable = false,
): Text {
  const objects = selectSql(from, name, (row) => textSql(object(row)), part);
  return arrayJson(sql`array(${objects})`, isSplittable);
}

/** The JSON of a list from an array with the JSON of its items. */
export function arrayJson(elements: SQL, isSplittable: boolean): Text {
  const comma = isSplittable ? sql`',' || ${rowSeparator}` : sql`','`;
  return ["[", sql`array_to_string(${elements}, ${comma})`, "]"];
}

/** The conjunction of two optional conditions. */
export function conjunction(
  one: Part["condition"] | null,
  other: Part["condition"] | null,
): Pick<Part, "condition"> {
  if (!one || !other) {
    const condition = one ?? other;
    return condition ? { condition } : {};
  }
  return {
    condition: (row) => sql`${sql.parens(one(row), true)} and ${sql.parens(other(row), true)}`,
  };
}

/** The WHERE clause of a condition, if there is one. */
export function whereSql(row: Row, { condition }: Pick<Part, "condition">): SQL {
  return condition ? sql` where ${condition(row)}` : sql.blank;
}

/** Selects columns of the rows of a part. */
export function selectSql(
  from: SQL,
  name: string,
  what: (row: Row) => SQL,
  { condition, order, first = null, skip, ranges }: Part,
): SQL {
  const row = tableRow(name);
  const conditions = condition ? [condition(row)] : [];
  const rowsWith = (columns: SQL) => ({ from, row: row.alias, columns, conditions, order });
  if (first === null && !skip) return orderedSql(rowsWith(what(row)));

  // Encodes the rows after the offset only. Small numbers are literals, so that the kept plan fits them; the offset is
  // planned for the next power of two.
  const part = selectedRow(name, row);
  const selected = what(part);
  const rows = rowsWith(part.columns());
  const offset = skip ? sql` offset ${skip.by}::integer` : sql.blank;
  if (first === null || skip?.reach === null)
    return sql`select ${selected} from (${orderedSql(rows)}${offset}) as ${part.alias}`;
  const limit = skip?.reach ?? first;
  const inRanges = ranges?.(row);
  const firstRows = inRanges
    ? firstRowsSql(rows, inRanges, { limit })
    : sql`${orderedSql(rows)} limit ${sql.literal(limit)}`;
  if (!skip) return sql`select ${selected} from (${firstRows}) as ${part.alias}`;
  const reached = sql`select * from (${firstRows}) as reached`;
  return sql`select ${selected} from (${reached} limit ${sql.literal(first)}${offset}) as ${part.alias}`;
}
