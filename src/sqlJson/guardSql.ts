import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Guard, loginIn, permissionKeys } from "../auth/guards.ts";

const isSomebody = sql`current_user_id() is not null`;
const logins = { login: sql`not is_scoped()`, session: sql`is_session()` } as const;

/** The SQL condition of a guard; equivalent to `checkGuard`. */
export function guardSql(guard: Guard): SQL {
  if (guard === "public") return sql.true;
  if (guard === "principal") return isSomebody;
  const login = loginIn(guard);
  const asked = [isSomebody, ...(login === undefined ? [] : [logins[login]])];
  if (typeof guard === "string") return sql.join(asked, " and ");
  const keys = permissionKeys(guard);
  if (keys.length === 0) return sql.false;
  const held = keys.map((key) => sql`has_permission(${sql.literal(key)})`);
  return sql.join([...asked, ...held], " and ");
}
