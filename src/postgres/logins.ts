import pg from "pg";
import { scramVerifier } from "./scramVerifier.ts";

/** A role that processes act as. They log in by its own name, or by one of a pair that take turns when passwords are replaced. */
export type ProcessRole = "office_server" | "office_worker";

/** The logins of a role: its own, and the pair. */
export function loginsOf(role: ProcessRole): readonly string[] {
  return [role, `${role}_a`, `${role}_b`];
}

/** The role of which a login is one; null of any other login. */
export function roleOfLogin(login: string): ProcessRole | null {
  const [, role] = /^(office_server|office_worker)(?:_[ab])?$/.exec(login) ?? [];
  return (role as ProcessRole | undefined) ?? null;
}

/** The login whose turn comes after this one. */
export function loginAfter(login: string, role: ProcessRole): string {
  return login === `${role}_a` ? `${role}_b` : `${role}_a`;
}

/**
 * Statements that let a login in, for who administers the database: one of a pair is made where it is not there yet. It acts as its
 * role from its first statement on, which a pooler could not ask for, and has no rights of its own.
 * @param password none leaves the one that it has; printable ASCII otherwise
 */
export function lettingIn(login: string, role: ProcessRole, password: string): string {
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
      // As `db/prepare.sql` has it for the role itself: settings go by the login.
      `alter role ${name} set jit = off`,
    );
  const verifier = password === "" ? "" : ` password ${pg.escapeLiteral(scramVerifier(password))}`;
  statements.push(`alter role ${name} login${verifier}`);
  return statements.join(";\n");
}
