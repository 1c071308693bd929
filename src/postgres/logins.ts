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
