import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Guard } from "../plugins/GuardsPlugin.ts";

const isSomebody = sql`current_user_id() is not null`;

/** Whether the caller of the transaction passes a guard: what `checkGuard` asks, as a condition. */
export function guardSql(guard: Guard): SQL {
  if (guard === "public") return sql.true;
  if (guard === "principal") return isSomebody;
  if (guard === "session") return sql`${isSomebody} and not is_scoped()`;
  if (guard.length === 0) return sql.false;
  const held = guard.map((key) => sql`has_permission(${sql.literal(key)})`);
  return sql.join([isSomebody, ...held], " and ");
}
