import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { rowsWanted } from "./fillTables.ts";
import { colleague, own, seedTables } from "./seed.ts";

const verbs = ["select", "insert", "update", "delete"] as const;
const roles = ["office_api", "office_server", "office_worker", "office_owner"];
export const nobody = "no permission";

/**
 * The rows that one caller reaches with one verb: `none`, `own`, `all` or a count such as `2 of 4`. `no grant` when
 * the privilege is missing.
 */
type Cell = string;
/**
 * One cell for all callers of a role. If callers differ: `otherwise` for a login without permissions and for
 * callers not named, and the names of the callers of each other cell.
 */
type Verb = Cell | { otherwise: Cell; [cell: string]: Cell | string[] };
/** Access to one table by role and verb; one cell when all verbs have the same. */
export type TableAccess = Record<string, Cell | Record<string, Verb>>;

interface Principal {
  role: string;
  name: string;
  userId: string;
  permissions: string[];
  scoped: boolean;
  /** Authenticated by an API token instead of a session. */
  token?: boolean;
}

interface Probe {
  verb: string;
  reached: number;
  reached_own: number;
}

interface Table {
  /** The name in the catalogue. */
  name: string;
  /** Without the month of a monthly partition. */
  label: string;
}

/**
 * Measures which rows each principal reaches in each table with each verb. It executes statements instead of
 * reading policies. `change` runs first, `only` limits the tables.
 * Run it as a superuser in a transaction that is rolled back: it changes grants and adds rows.
 */
export async function measureAccess(
  client: pg.ClientBase,
  options: { change?: string; only?: string } = {},
): Promise<Record<string, TableAccess>> {
  await seedTables(client);
  if (options.change) await client.query(options.change);
  const tables = (await readTables(client)).filter(
    ({ name }) => !options.only || name === options.only,
  );
  const granted = await readGrants(client, tables);
  const totals = await grantAll(client, tables);

  const cells = new Map<string, Map<string, Map<string, Cell>>>();
  for (const principal of await readPrincipals(client)) {
    await setPrincipal(client, principal);
    for (const { name, label } of tables) {
      const { rows } = await client.query<Probe>("select * from access_probe($1, $2)", [
        name,
        ownPattern,
      ]);
      for (const probe of rows) {
        const right = granted.has(`${principal.role} ${name} ${probe.verb}`);
        const key = `${label} ${principal.role}`;
        const byVerb = cells.get(key) ?? new Map<string, Map<string, Cell>>();
        const byName = byVerb.get(probe.verb) ?? new Map<string, Cell>();
        const cell = cellOf(right, probe, totals.get(name));
        const before = byName.get(principal.name) ?? cell;
        // All monthly partitions must have the same cell.
        byName.set(principal.name, before === cell ? cell : `${before} or ${cell}`);
        cells.set(key, byVerb.set(probe.verb, byName));
      }
    }
    await client.query("reset role");
  }
  const labels = [...new Set(tables.map(({ label }) => label))].sort();
  return Object.fromEntries(
    labels.map((label) => [
      label,
      Object.fromEntries(roles.map((role) => [role, summary(cells.get(`${label} ${role}`))])),
    ]),
  );
}

/** The expected cell of one caller and one verb. */
export function expectedCell(
  access: TableAccess | undefined,
  { role, verb, name }: { role: string; verb: (typeof verbs)[number]; name: string },
): Cell {
  const byVerb = access?.[role];
  if (byVerb === undefined) throw new Error(`The expected access has no entry for ${role}`);
  const cells = typeof byVerb === "string" ? byVerb : byVerb[verb];
  if (cells === undefined || typeof cells === "string") return cells ?? "none";
  const named = Object.entries(cells).find(
    ([, names]) => Array.isArray(names) && names.includes(name),
  );
  return named?.[0] ?? cells.otherwise;
}

const ownPattern = `${own.user}|${own.role}`;

async function readTables(client: pg.ClientBase): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    select c.oid::regclass::text as name,
      case when c.relispartition then regexp_replace(c.oid::regclass::text, '_\\d{4}_\\d{2}$', '_<month>')
        else c.oid::regclass::text end as label
    from pg_class c
    where c.relnamespace in (current_schema()::regnamespace, 'office_jobs'::regnamespace)
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
    order by 1`);
  return rows;
}

/** Tables that do not have {@link rowsWanted} rows after seeding. Their cells prove nothing. */
export async function findEmpty(client: pg.ClientBase): Promise<string[]> {
  await seedTables(client);
  const empty: string[] = [];
  for (const { name, label } of await readTables(client)) {
    if (label !== name || name.endsWith("_default")) continue;
    const { rowCount } = await client.query(`select from ${name} limit 2`);
    if (rowCount !== (await rowsWanted(client, name))) empty.push(name);
  }
  return empty;
}

/** The granted privileges, each as `role table verb`. */
async function readGrants(client: pg.ClientBase, tables: Table[]): Promise<Set<string>> {
  const { rows } = await client.query<{ right: string }>(
    `select concat_ws(' ', r.role, t.name, v.verb) as right
     from unnest($1::text[]) as r(role), unnest($2::text[]) as t(name), unnest($3::text[]) as v(verb),
       lateral (select relnamespace from pg_class where oid = t.name::regclass) as c(namespace)
     where has_schema_privilege(r.role, c.namespace, 'usage')
       and (has_table_privilege(r.role, t.name, v.verb)
         or v.verb <> 'delete' and has_any_column_privilege(r.role, t.name, v.verb))`,
    [roles, tables.map(({ name }) => name), verbs],
  );
  return new Set(rows.map((row) => row.right));
}

/** Grants every privilege, so that only policies decide. Copies the rows of all tables and returns their counts. */
async function grantAll(client: pg.ClientBase, tables: Table[]): Promise<Map<string, Probe>> {
  const names = tables.map(({ name }) => name).join(", ");
  await client.query(await readFile(join(import.meta.dirname, "probe.sql"), "utf8"));
  await client.query(`grant all on ${names} to ${roles.join(", ")}`);
  await client.query(`grant usage on schema office_jobs to ${roles.join(", ")}`);
  // Disables triggers and foreign keys, which would hide what the policies allow.
  await client.query("set local session_replication_role = replica");
  for (const { name } of tables)
    await client.query("select access_probe_keep($1, $2)", [name, ownPattern]);
  const { rows } = await client.query<Probe & { relation: string }>(
    `select relation, '' as verb, count(*)::integer as reached, count(*) filter (where r.own)::integer as reached_own
     from access_probe_rows r group by relation`,
  );
  return new Map(rows.map((row) => [row.relation, row]));
}

async function readPrincipals(client: pg.ClientBase): Promise<Principal[]> {
  const { rows } = await client.query<{ key: string }>(
    'select key from permissions order by key collate "C"',
  );
  const keys = rows.map((row) => row.key);
  const login = (name: string, permissions: string[], role = "office_api") => ({
    role,
    name,
    userId: own.user,
    permissions,
    scoped: false,
  });
  return [
    { ...login("no login", []), userId: "" },
    login(nobody, []),
    { ...login("no permission, but a department", []), userId: colleague },
    { ...login("a scoped token without permissions", []), userId: colleague, scoped: true },
    ...keys.map((key) => login(key, [key])),
    login("every permission", keys),
    { ...login("an unlimited token of every permission", keys), token: true },
    // The other roles set every permission that a request could set. It must not widen their access.
    ...roles.slice(1).map((role) => login(nobody, keys, role)),
  ];
}

async function setPrincipal(
  client: pg.ClientBase,
  { role, userId, permissions, scoped, token }: Principal,
): Promise<void> {
  const settings = {
    "office.user_id": userId,
    "office.session_id": userId === "" || scoped || token ? "" : randomUUID(),
    "office.token_id": scoped || token ? randomUUID() : "",
    "office.permissions": permissions.join(","),
    "office.scoped": String(scoped),
    role,
  };
  for (const [name, value] of Object.entries(settings))
    await client.query("select set_config($1, $2, true)", [name, value]);
}

function cellOf(right: boolean, probe: Probe, total: Probe | undefined): Cell {
  const reach = reachOf(probe, total);
  if (right) return reach;
  return reach === "none" ? "no grant" : `no grant, else ${reach}`;
}

function reachOf({ verb, reached, reached_own }: Probe, total: Probe | undefined): Cell {
  if (reached === 0 || !total) return "none";
  // The probe inserts at most two of the caller's own rows and two others.
  const cap = (count: number) => (verb === "insert" ? Math.min(count, 2) : count);
  const ownRows = cap(total.reached_own);
  const all = ownRows + cap(total.reached - total.reached_own);
  if (reached === all) return "all";
  return reached === reached_own && reached === ownRows ? "own" : `${reached} of ${all}`;
}

/** Merges cells that all callers or all verbs share. */
function summary(byVerb: Map<string, Map<string, Cell>> | undefined): Cell | Record<string, Verb> {
  const shown = verbs.map(
    (verb) => [verb, summaryOfVerb(byVerb?.get(verb) ?? new Map<string, Cell>())] as const,
  );
  const [first] = shown.map(([, value]) => value);
  return typeof first === "string" && shown.every(([, value]) => value === first)
    ? first
    : Object.fromEntries(shown);
}

function summaryOfVerb(byName: Map<string, Cell>): Verb {
  const otherwise = byName.get(nobody) ?? "not asked";
  const named: Record<string, string[]> = {};
  for (const [name, cell] of byName) if (cell !== otherwise) (named[cell] ??= []).push(name);
  return Object.keys(named).length === 0 ? otherwise : { otherwise, ...named };
}
