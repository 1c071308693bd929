import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../plugins/defaultOrder.ts";
import { cut } from "./inPieces.ts";
import { type Row, selectedRow, tableRow } from "./row.ts";
import { type Text, textSql } from "./text.ts";

/** Which rows of a list, in which order. */
export interface Part {
  condition?: (row: Row) => SQL;
  order: readonly OrderColumn[];
  first?: number | null;
  /** How many rows are passed over: a parameter, which {@link reachOf} bounds together with `first`. */
  skip?: { by: SQL; reach: number | null };
}

/**
 * Up to which row a list is read at most, with the one that tells whether more follow: the next power of two, of which there are few. Null
 * where nothing is passed over, or all is read.
 */
export function reachOf(first: number | null, offset: number | null): number | null {
  if (!offset || first === null) return null;
  return 2 ** Math.ceil(Math.log2(offset + first + 1));
}

/** The text of a list of rows' objects; where it `mayBeCut`, with a {@link cut} after each. */
export function listText(
  from: SQL,
  name: string,
  object: (row: Row) => Text,
  part: Part,
  mayBeCut = false,
): Text {
  return arrayText(sql`array(${objectsSql(from, name, object, part)})`, mayBeCut);
}

/** The text of a list, of an array of its elements' texts. */
export function arrayText(elements: SQL, mayBeCut: boolean): Text {
  const comma = mayBeCut ? sql`',' || ${cut}` : sql`','`;
  return ["[", sql`array_to_string(${elements}, ${comma})`, "]"];
}

/** Selects the texts of rows' objects, a row each. */
export function objectsSql(
  from: SQL,
  name: string,
  object: (row: Row) => Text,
  { condition, order, first = null, skip }: Part,
): SQL {
  const row = tableRow(name);
  const where = condition ? sql` where ${condition(row)}` : sql.blank;
  const columns = order.map(
    ({ attribute, direction }) =>
      sql`${row.column(attribute)} ${direction === "ASC" ? sql`asc` : sql`desc`}`,
  );
  const ordered = columns.length > 0 ? sql` order by ${sql.join(columns, ", ")}` : sql.blank;
  const rows = sql`${from} as ${row.alias}${where}${ordered}`;
  if (first === null && !skip) return sql`select ${textSql(object(row))} from ${rows}`;

  // Objects are written of the rows that are left, not of those that are skipped. Numbers of which there are few stand in the
  // text, for the plan that is kept for all values of the parameters; for any offset it is made for the next power of two.
  const part = selectedRow(name, row);
  const text = textSql(object(part));
  const inner = sql`select ${part.columns()} from ${rows}`;
  if (!skip)
    return sql`select ${text} from (${inner} limit ${sql.literal(first)}) as ${part.alias}`;
  const offset = sql` offset ${skip.by}::integer`;
  if (first === null) return sql`select ${text} from (${inner}${offset}) as ${part.alias}`;
  const reached = sql`select * from (${inner} limit ${sql.literal(skip.reach)}) as reached`;
  return sql`select ${text} from (${reached} limit ${sql.literal(first)}${offset}) as ${part.alias}`;
}
