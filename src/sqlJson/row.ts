import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

/** A row that a statement reads. */
export interface Row {
  alias: SQL;
  column(name: string): SQL;
  /** The row as a value of its table's type. */
  whole(): SQL;
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
 * A row of a subquery over `inner`. The subquery selects the columns that were asked of the row; call {@link columns}
 * last.
 */
export function selectedRow(name: string, inner: Row): Row & { columns(): SQL } {
  const alias = sql.identifier(Symbol(name));
  const asked = new Set<string>();
  let isWhole = false;
  return {
    alias,
    column(column) {
      asked.add(column);
      return sql`${alias}.${sql.identifier(column)}`;
    },
    whole() {
      isWhole = true;
      return sql`${alias}.${sql.identifier("whole row")}`;
    },
    columns() {
      const list = [...asked].map(
        (column) => sql`${inner.column(column)} as ${sql.identifier(column)}`,
      );
      if (isWhole) list.push(sql`${inner.whole()} as ${sql.identifier("whole row")}`);
      return sql.join(list, ", ");
    },
  };
}
