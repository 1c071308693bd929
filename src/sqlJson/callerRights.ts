import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { HideablePlace, Rights } from "../graphql/hiddenFields.ts";

/** Adds the caller's rights to a statement as a column, where they decide what its fields show. */
export function withRights(answer: SQL, places: readonly HideablePlace[]): SQL {
  if (!places.some(({ needs }) => needs.length > 0)) return answer;
  const scoped = sql`current_setting('office.scoped', true)`;
  const permissions = sql`current_setting('office.permissions', true)`;
  return sql`select answer.data, ${scoped} || ',' || ${permissions} as rights from (${answer}) as answer`;
}

/** Reads the column of {@link withRights}. */
export function rightsOf(column: string): Rights {
  const [scoped, ...keys] = column.split(",");
  const held = new Set(keys);
  return { holds: (key) => held.has(key), isScoped: scoped === "true" };
}

/** The condition that no hideable field must be an error for the caller; otherwise the statement returns no row. */
export function refusesNone(places: readonly HideablePlace[]): SQL[] {
  const keys = new Set(places.flatMap(({ scopedKey }) => scopedKey ?? []));
  return Array.from(keys, (key) => sql`(not is_scoped() or has_permission(${sql.literal(key)}))`);
}
