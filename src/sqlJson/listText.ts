import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import { roundedUp } from "../paging/pageArguments.ts";
import { cut } from "./chunkRows.ts";
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
 * Up to which row a list is read at most, with the one that tells whether more follow, rounded up. Null where nothing is passed over, or
 * all is read.
 */
export function reachOf(first: number | null, offset: number | null): number | null {
  return !offset || first === null ? null : roundedUp(offset + first + 1);
}

/** The same for all parts of a list that the same SQL reads. */
export function shapeOf(
  order: readonly OrderColumn[],
  first: number | null,
  offset: number | null,
): string {
  const skipped = offset ? `skip ${reachOf(first, offset)}` : "all";
  const columns = order.map(({ attribute, direction }) => attribute + direction);
  return [first, skipped, ...columns].join(" ");
}

/** The text of a list of rows' objects; where it `mayBeCut`, with a {@link cut} after each. */
export function listText(
  from: SQL,
  name: string,
  object: (row: Row) => Text,
  part: Part,
  mayBeCut = false,
): Text {
  const objects = selectSql(from, name, (row) => textSql(object(row)), part);
  return arrayText(sql`array(${objects})`, mayBeCut);
}

/** The text of a list, of an array of its elements' texts. */
export function arrayText(elements: SQL, mayBeCut: boolean): Text {
  const comma = mayBeCut ? sql`',' || ${cut}` : sql`','`;
  return ["[", sql`array_to_string(${elements}, ${comma})`, "]"];
}

/** Both of two conditions, either of which may not be there. */
export function bothOf(
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

/** The clause for a condition, if there is one. */
export function whereSql(row: Row, { condition }: Pick<Part, "condition">): SQL {
  return condition ? sql` where ${condition(row)}` : sql.blank;
}

/** Selects something of the rows of a part. */
export function selectSql(
  from: SQL,
  name: string,
  what: (row: Row) => SQL,
  { condition, order, first = null, skip }: Part,
): SQL {
  const row = tableRow(name);
  const columns = order.map(
    ({ attribute, direction }) =>
      sql`${row.column(attribute)} ${direction === "ASC" ? sql`asc` : sql`desc`}`,
  );
  const ordered = columns.length > 0 ? sql` order by ${sql.join(columns, ", ")}` : sql.blank;
  const rows = sql`${from} as ${row.alias}${whereSql(row, { condition })}${ordered}`;
  if (first === null && !skip) return sql`select ${what(row)} from ${rows}`;

  // Objects are written of the rows that are left, not of those that are skipped. Numbers of which there are few stand in the
  // text, for the plan that is kept for all values of the parameters; for any offset it is made for the next power of two.
  const part = selectedRow(name, row);
  const selected = what(part);
  const inner = sql`select ${part.columns()} from ${rows}`;
  if (!skip)
    return sql`select ${selected} from (${inner} limit ${sql.literal(first)}) as ${part.alias}`;
  const offset = sql` offset ${skip.by}::integer`;
  if (first === null) return sql`select ${selected} from (${inner}${offset}) as ${part.alias}`;
  const reached = sql`select * from (${inner} limit ${sql.literal(skip.reach)}) as reached`;
  return sql`select ${selected} from (${reached} limit ${sql.literal(first)}${offset}) as ${part.alias}`;
}
