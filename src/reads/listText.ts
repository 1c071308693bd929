import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../plugins/defaultOrder.ts";
import { type Row, selectedRow, tableRow } from "./row.ts";

/** Which rows of a list, in which order. */
export interface Part {
  condition?: (row: Row) => SQL;
  order: readonly OrderColumn[];
  first?: number | null;
  offset?: number | null;
}

/** The text of a list of rows' objects. */
export function listText(
  from: SQL,
  name: string,
  object: (row: Row) => SQL,
  { condition, order, first = null, offset = null }: Part,
): SQL {
  const row = tableRow(name);
  const where = condition ? sql` where ${condition(row)}` : sql.blank;
  const columns = order.map(
    ({ attribute, direction }) =>
      sql`${row.column(attribute)} ${direction === "ASC" ? sql`asc` : sql`desc`}`,
  );
  const ordered = columns.length > 0 ? sql` order by ${sql.join(columns, ", ")}` : sql.blank;
  const rows = sql`${from} as ${row.alias}${where}${ordered}`;
  if (first === null && !offset) return array(sql`select ${object(row)} from ${rows}`);

  // Objects are written of the rows that are left, not of those that are skipped. Numbers of which there are few stand in the
  // text, for the plan that is kept for all values of the parameters; for any offset it is made for the next power of two.
  const part = selectedRow(name, row);
  const text = object(part);
  const inner = sql`select ${part.columns()} from ${rows}`;
  if (!offset)
    return array(sql`select ${text} from (${inner} limit ${sql.literal(first)}) as ${part.alias}`);
  const skip = sql` offset ${sql.value(offset)}::integer`;
  if (first === null) return array(sql`select ${text} from (${inner}${skip}) as ${part.alias}`);
  const reach = 2 ** Math.ceil(Math.log2(offset + Math.max(first, 1)));
  const reached = sql`select * from (${inner} limit ${sql.literal(reach)}) as reached`;
  return array(
    sql`select ${text} from (${reached} limit ${sql.literal(first)}${skip}) as ${part.alias}`,
  );
}

function array(select: SQL): SQL {
  return sql`'[' || array_to_string(array(${select}), ',') || ']'`;
}
