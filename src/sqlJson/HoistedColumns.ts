import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Part, selectSql } from "./listText.ts";
import { type Row, tableRow } from "./row.ts";
import { type Text, textSql } from "./text.ts";

/** What a text is made of under several names, or uses for several things: each is found once, before the text is made. */
export class HoistedColumns {
  readonly #alias = sql.identifier(Symbol("found"));
  readonly #columns = new Map<string, { select: (row: Row) => SQL; column: SQL }>();

  /** Something that is found, `what` being its name: in a select of the rows of a part, where `around` is given one. */
  once(what: string, select: (row: Row) => SQL): SQL {
    const known = this.#columns.get(what) ?? { select, column: sql.identifier(Symbol(what)) };
    this.#columns.set(what, known);
    return sql`${this.#alias}.${known.column}`;
  }

  /** The array of the texts of a part's rows. */
  ofRows(what: string, text: (row: Row) => Text): SQL {
    return this.once(what, (row) => sql`coalesce(array_agg(${textSql(text(row))}), '{}')`);
  }

  /** The text with what it is made of, which the rows of a part may be read for. */
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
    // The offset keeps the planner from putting each in the place of its uses.
    return [sql`(select ${textSql(text)} from (${source} offset 0) as ${this.#alias})`];
  }
}
