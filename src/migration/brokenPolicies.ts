import type pg from "pg";
import { isDatabaseError } from "../errors/databaseErrors.ts";

/**
 * Plans a read of each table of the current schema whose policies read rows, as the request role. The client is in a
 * transaction of a login that may act as `office_api`, or may let itself.
 * @returns the tables that nobody could read, such as those with a policy that reads its own table
 */
export async function brokenPolicies(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct c.oid::regclass::text as name from pg_policy p join pg_class c on c.oid = p.polrelid
     where c.relnamespace = current_schema()::regnamespace and p.polcmd in ('r', '*')
       and pg_get_expr(p.polqual, p.polrelid) ~ '\\mFROM\\M' and has_any_column_privilege('office_api', c.oid, 'select')
     order by 1`,
  );
  if (rows.length === 0) return [];
  // A login that is no superuser administers the role without being a member of it.
  const { rows: logins } = await client.query<{ isMember: boolean }>(
    `select pg_has_role(session_user, 'office_api', 'set') as "isMember"`,
  );
  const join =
    logins[0]?.isMember === true
      ? ""
      : "reset role; grant office_api to session_user with set true;";
  const found: string[] = [];
  for (const { name } of rows) {
    await client.query(`savepoint office_policies; ${join} set local role office_api`);
    try {
      await client.query(`explain select from ${name}`);
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      found.push(
        `table ${name}: nobody could read it, because a policy fails (${error.message})${
          error.code === "42P17"
            ? "; read the rows of the table itself in a function with `security definer`"
            : ""
        }`,
      );
    } finally {
      await client.query("rollback to savepoint office_policies");
    }
  }
  return found;
}
