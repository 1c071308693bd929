import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Table } from "./labels.ts";

declare global {
  namespace GraphileBuild {
    interface ScopeObjectFieldsField {
      /** The table of a field that shows the version of its row. */
      versionedTable?: Table;
    }
  }
}

/** The version of a stored row of a table. `column` gives the SQL of a column; the result of a function has no `xmin`. */
export function versionSql({ codec }: Table, column: (name: string) => SQL): SQL {
  const changedAt = codec.attributes["updated_at"] ? column("updated_at") : sql`null`;
  return sql`version_of(${column("xmin")}::text, ${changedAt})`;
}

/** Whether rows can reach callers who see only the `@summary` of their table, which has no version. */
export function hasSummary({ extensions }: Table): boolean {
  return extensions?.tags?.summary !== undefined;
}
