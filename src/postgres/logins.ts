import pg from "pg";
import { scramVerifier } from "./scramVerifier.ts";

/** A role of processes. They log in by its name, or by one of two logins that alternate when passwords are rotated. */
export type ProcessRole = "office_server" | "office_worker";

/** The logins of a role. */
export function loginsOf(role: ProcessRole): readonly string[] {
  return [role, `${role}_a`, `${role}_b`];
}

/** The role of a login; null for other logins. */
export function roleOfLogin(login: string): ProcessRole | null {
  const [, role] = /^(office_server|office_worker)(?:_[ab])?$/.exec(login) ?? [];
  return (role as ProcessRole | undefined) ?? null;
}

/** The login that follows in the rotation. */
export function nextLogin(login: string, role: ProcessRole): string {
  return login === `${role}_a` ? `${role}_b` : `${role}_a`;
}

/**
 * Statements that enable a login, for an administrator; a missing login is created. It has no rights and acts as its
 * role from the first statement on, since a pooler could not switch roles.
 * @param password printable ASCII; empty keeps the present one
 */
export function enableLoginSql(login: string, role: ProcessRole, password: string): string {
  const name = pg.escapeIdentifier(login);
  const statements: string[] = [];
  if (login !== role)
    statements.push(
      `do $$
       begin
         if to_regrole('${login}') is null then
           create role ${name} nologin noinherit;
         end if;
         if not pg_has_role('${login}', '${role}', 'set') then
           grant ${role} to ${name} with inherit false, set true;
         end if;
         execute format('grant connect on database %I to ${name}', current_database());
       end $$`,
      `alter role ${name} set role = '${role}'`,
      // As `db/prepare.sql` sets it for the role: settings belong to the login.
      `alter role ${name} set jit = off`,
    );
  const verifier = password === "" ? "" : ` password ${pg.escapeLiteral(scramVerifier(password))}`;
  statements.push(`alter role ${name} login${verifier}`);
  return statements.join(";\n");
}

/** Begins the comment of a login that a rotation made; the time follows. */
const madeAtPrefix = "made by keys:rotate at ";

/** A statement that records when a rotation made a login, by the clock of the database. */
export function recordMadeSql(login: string): string {
  const text = `${pg.escapeLiteral(madeAtPrefix)} || to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return `do $$ begin execute format('comment on role %I is %L', ${pg.escapeLiteral(login)}, ${text}); end $$`;
}

/** The logins of a role that a rotation made after `login`, and that can log in. */
export async function successorsOf(
  client: Pick<pg.ClientBase, "query">,
  login: string,
  role: ProcessRole,
): Promise<string[]> {
  const { rows } = await client.query<{ login: string }>(
    `with made as (
       select rolname as login, rolcanlogin as is_open,
         coalesce(substring(shobj_description(oid, 'pg_authid') from $3), '') as at
       from pg_roles where rolname = any ($2)
     )
     select m.login from made m, made own
     where own.login = $1 and m.is_open and m.at > own.at order by 1`,
    [login, loginsOf(role), `^${madeAtPrefix}(.*)$`],
  );
  return rows.map((row) => row.login);
}
