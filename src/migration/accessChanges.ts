import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { guardOf, guardText } from "../auth/guards.ts";

/** Who may use the root fields of an API, and what the row-level security policies let its callers see and change. */
export interface Access {
  /** What each root field needs, by its name, such as `Query.suppliers`. */
  guards: ReadonlyMap<string, string>;
  policies: readonly Policy[];
}

interface Policy {
  name: string;
  table: string;
  /** The command and the conditions, as PostgreSQL prints them. */
  text: string;
}

const shownChanges = 40;

/** Reads the access that the current schema of the database and its API give. */
export async function readAccess(client: pg.ClientBase, api: GraphQLSchema): Promise<Access> {
  const guards = new Map(
    [api.getQueryType(), api.getMutationType()].flatMap((root) =>
      Object.values(root?.getFields() ?? {}).map((field) => [
        `${root?.name}.${field.name}`,
        guardText(guardOf(field as { extensions: object })),
      ]),
    ),
  );
  const { rows: policies } = await client.query<Policy>(
    `select policyname as name, tablename as table,
       regexp_replace(
         case permissive when 'RESTRICTIVE' then 'restrictive ' else '' end || lower(cmd) || coalesce(' where ' || qual, '') || coalesce(', checked: ' || nullif(with_check, qual), ''),
         -- A function in a subquery is called once a statement, not once a row; that says nothing about access.
         '\\( SELECT (\\w+\\([^()]*\\)) AS \\w+\\)', '\\1', 'g') as text
     from pg_policies where schemaname = current_schema() and 'office_api' = any (roles) order by tablename, policyname`,
  );
  return { guards, policies };
}

/**
 * Lines that say how a migration changes the access to what exists already; long lists are truncated. A comment that
 * loses a tag such as `@owner` widens it without a statement that says so.
 */
export function accessLines(before: Access, after: Access): string[] {
  const guards = [...after.guards].flatMap(([field, needs]) => {
    const needed = before.guards.get(field);
    return needed === undefined || needed === needs
      ? []
      : [`  ~ ${field} needed ${needed}, now ${needs}`];
  });
  const nameOf = ({ name, table }: Policy) => `policy ${name} on ${table}`;
  const old = new Map(before.policies.map((policy) => [nameOf(policy), policy.text]));
  const tables = new Set(before.policies.map(({ table }) => table));
  const policies = after.policies.flatMap((policy) => {
    const name = nameOf(policy);
    const text = old.get(name);
    if (text === policy.text || !tables.has(policy.table)) return [];
    return text === undefined
      ? [`  + ${name}: ${policy.text}`]
      : [`  ~ ${name}: ${text}`, `      now ${policy.text}`];
  });
  const kept = new Set(after.policies.map(nameOf));
  const left = new Set(after.policies.map(({ table }) => table));
  const dropped = before.policies
    .filter((policy) => left.has(policy.table) && !kept.has(nameOf(policy)))
    .map((policy) => `  - ${nameOf(policy)}`);
  const lines = [...guards, ...policies, ...dropped];
  if (lines.length <= shownChanges) return lines;
  return [...lines.slice(0, shownChanges), `  … and ${lines.length - shownChanges} more`];
}
