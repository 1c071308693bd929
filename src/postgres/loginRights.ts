import type pg from "pg";

/**
 * Why the login of a connection is more than row-level security allows, whichever role the connection acts as; null for
 * a login that is not.
 */
export async function excessOfLogin(client: Pick<pg.ClientBase, "query">): Promise<string | null> {
  const { rows } = await client.query<{ excess: string | null }>(
    `select case
        when r.rolsuper then 'is a superuser'
        when r.rolbypassrls then 'bypasses row-level security'
        when pg_has_role(r.oid, 'office_owner', 'member') then 'is a member of office_owner'
      end as excess
      from pg_roles r where r.rolname = session_user`,
  );
  return rows[0]?.excess ?? null;
}
