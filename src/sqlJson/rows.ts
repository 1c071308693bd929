import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { firstRowsSql, orderedSql } from "../paging/indexRanges.ts";
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

/** A condition on a row. */
export type RowCondition = (row: Row) => SQL;

/** A row of a table. */
export function tableRow(name: string): Row {
  const alias = sql.identifier(Symbol(name));
  return {
    alias,
    column: (column) => sql`${alias}.${sql.identifier(column)}`,
    whole: () => alias,
  };
}

/** A row of a subquery over `inner`, which selects the columns that were requested of the row before `columns()`. */
function selectedRow(name: string, inner: Row): Row & { columns(): SQL } {
  const alias = sql.identifier(Symbol(name));
  const requested = new Map<string, SQL>();
  const request = (value: SQL, as: string) => {
    const column = sql.identifier(as);
    requested.set(as, sql`${value} as ${column}`);
    return sql`${alias}.${column}`;
  };
  return {
    alias,
    column: (column) => request(inner.column(column), column),
    whole: () => request(inner.whole(), "whole row"),
    columns: () => sql.join([...requested.values()], ", "),
  };
}

/** Rows in an order. */
export interface Part {
  from: SQL;
  order: readonly OrderColumn[];
  /** Which rows: all by default. */
  rows?: (row: Row) => {
    conditions: readonly SQL[];
    /** The ranges of an index that have them, none for the whole table; null where no index has the rows in order. */
    ranges?: readonly SQL[] | null;
  };
  first?: number | null;
  /** The offset as a parameter, and the most rows that are read for it with `first`. */
  skip?: { by: SQL; reach: number | null };
}

/** The JSON of one row's object; null where there is no row. */
export function oneJson(name: string, object: (row: Row) => Text, part: Part): SQL {
  return sql`(${selectSql(name, (row) => textSql(object(row)), part)})`;
}

/** The JSON of a list of objects; with `isSplittable`, with {@link rowSeparator} after each. */
export function listJson(
  name: string,
  object: (row: Row) => Text,
  part: Part,
  isSplittable = false,
): Text {
  return arrayJson(sql`array${oneJson(name, object, part)}`, isSplittable);
}

/** The JSON of a list from an array with the JSON of its items. */
export function arrayJson(elements: SQL, isSplittable: boolean): Text {
  const comma = isSplittable ? sql`',' || ${rowSeparator}` : sql`','`;
  return ["[", sql`array_to_string(${elements}, ${comma})`, "]"];
}

/** Selects columns of rows. */
export function selectSql(name: string, what: (row: Row) => SQL, part: Part): SQL {
  const { from, order, first = null, skip } = part;
  const row = tableRow(name);
  const { conditions, ranges } = part.rows?.(row) ?? { conditions: [] };
  const rowsWith = (columns: SQL) => ({ from, row: row.alias, columns, conditions, order });
  if (first === null && !skip) return orderedSql(rowsWith(what(row)));

  // Encodes the rows after the offset only. Small numbers are literals, so that the kept plan fits them; the offset is
  // planned for the next power of two.
  const selected = selectedRow(name, row);
  const columns = what(selected);
  const rows = rowsWith(selected.columns());
  const limit = skip ? skip.reach : first;
  const read =
    ranges && limit !== null
      ? firstRowsSql(rows, ranges, { limit })
      : sql`${orderedSql(rows)} limit ${sql.literal(limit)}`;
  const shown = skip
    ? sql`select * from (${read}) as reached limit ${sql.literal(first)} offset ${skip.by}::integer`
    : read;
  return sql`select ${columns} from (${shown}) as ${selected.alias}`;
}
