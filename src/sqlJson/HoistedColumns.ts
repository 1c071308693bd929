import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Part, selectSql } from "./listJson.ts";
import { type Row, tableRow } from "./row.ts";
import { type Text, textSql } from "./text.ts";

/** Columns of a subquery for expressions that the JSON of a row uses several times. */
export class HoistedColumns {
  readonly #alias = sql.identifier(Symbol("found"));
  readonly #columns = new Map<string, { select: (row: Row) => SQL; column: SQL }>();

  /**
   * Hoists an expression under the name `what` and returns its column; `select` gets the row that `around` selects
   * from.
   */
  once(what: string, select: (row: Row) => SQL): SQL {
    const known = this.#columns.get(what) ?? { select, column: sql.identifier(Symbol(what)) };
    this.#columns.set(what, known);
    return sql`${this.#alias}.${known.column}`;
  }

  /** The array with the JSON of each row of a part. */
  ofRows(what: string, text: (row: Row) => Text): SQL {
    return this.once(what, (row) => sql`coalesce(array_agg(${textSql(text(row))}), '{}')`);
  }

  /** Wraps the expression in a subquery that selects the hoisted columns, from the rows of `part` where it is given. */
  around(text: Text, from: SQL, name: string, part: Part | null): Text {
    const columns = [...this.#columns.values()];
    if (columns.length === 0) return text;
    const selects = (row: Row) =>
      sql.join(
        columns.map(({ select, column }) => sql`${select(row)} as ${column}`),
        ", ",
      );
    const source = part
      ? selectSql(from, name, selects, part)
      : sql`select ${selects(tableRow(name))}`;
    // Without the offset the planner would inline each column at each of its uses.
    return [sql`(select ${textSql(text)} from (${source} offset 0) as ${this.#alias})`];
  }
}
