import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Guard, permissionKeys } from "../plugins/GuardsPlugin.ts";

const isSomebody = sql`current_user_id() is not null`;

/** Whether the caller of the transaction passes a guard: what `checkGuard` asks, as a condition. */
export function guardSql(guard: Guard): SQL {
  if (guard === "public") return sql.true;
  if (guard === "principal") return isSomebody;
  const isFull = sql`not is_scoped()`;
  if (guard === "session") return sql`${isSomebody} and ${isFull}`;
  const keys = permissionKeys(guard);
  if (keys.length === 0) return sql.false;
  const held = keys.map((key) => sql`has_permission(${sql.literal(key)})`);
  return sql.join([isSomebody, ...(guard[0] === "session" ? [isFull] : []), ...held], " and ");
}
