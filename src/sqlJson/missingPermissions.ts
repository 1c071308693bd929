import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { HideablePlace, Rights } from "../graphql/hiddenFields.ts";

/** Stands among the missing permissions for a scoped token. */
const scoped = "scoped";

/** Adds a column to a statement: the permissions that the caller lacks of those that its hideable fields need. */
export function withMissingPermissions(answer: SQL, places: readonly HideablePlace[]): SQL {
  const needs = places.flatMap((place) => place.needs);
  if (needs.length === 0) return answer;
  const keys = [...new Set(needs.flatMap((need) => need.keys))];
  const held = sql`select string_agg(key, ' ') from unnest(array[${sql.join(keys.map(sql.literal), ", ")}]) as key where not has_permission(key)`;
  return sql`select answer.data, concat_ws(' ', (${held}), case when is_scoped() then ${sql.literal(scoped)} end) as lacking from (${answer}) as answer`;
}

/** The rights of a caller who lacks these permissions. */
export function missingPermissionsOf(lacking: string): Rights {
  const missing = new Set(lacking.split(" "));
  return { holds: (key) => !missing.has(key), isScoped: missing.has(scoped) };
}

/** The condition that no hideable field must be an error for the caller; otherwise the statement returns no row. */
export function refusesNone(places: readonly HideablePlace[]): SQL[] {
  const keys = new Set(places.flatMap(({ scopedKey }) => scopedKey ?? []));
  return Array.from(keys, (key) => sql`(not is_scoped() or has_permission(${sql.literal(key)}))`);
}
