import type pg from "pg";

/** PostgreSQL settings for counting statements, which add a small cost to each of them. */
export const countingFlags = ["-c", "shared_preload_libraries=pg_stat_statements"];

/** Counts the statements that reach the server in any database during `work`, without those inside of functions. */
export async function statementsOf(
  admin: pg.ClientBase,
  work: () => Promise<void>,
): Promise<number> {
  await admin.query("create extension if not exists pg_stat_statements schema public");
  await admin.query("select public.pg_stat_statements_reset()");
  await work();
  const { rows } = await admin.query<{ calls: string }>(
    "select sum(calls) as calls from public.pg_stat_statements where query not like '%pg_stat_statements%'",
  );
  return Number(rows[0]?.calls ?? 0);
}
