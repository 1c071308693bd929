import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

/** A table of a peer's own database, filled by a query of ours. */
interface Table {
  name: string;
  /** Its columns and constraints. */
  definition: string;
  /** The columns of the query, in order. */
  columns: string;
  query: string;
  indexes?: readonly string[];
}

/**
 * The tables of the six operations, with a single primary key each and field names as columns, as Directus and Keystone
 * require. Join tables are missing, because each peer has its own. Users and products require only an id; otherwise
 * Directus would require the other fields for a new campaign.
 */
const shared: readonly Table[] = [
  {
    name: "users",
    definition: `id uuid primary key, email text unique, name text, "isActive" boolean default false,
      "createdAt" timestamptz default now()`,
    columns: `id, email, name, "isActive", "createdAt"`,
    query: "select id, email, name, is_active, created_at from users",
  },
  {
    name: "roles",
    definition: "id uuid primary key, name text not null unique",
    columns: "id, name",
    query: "select id, name from roles",
  },
  {
    name: "permissions",
    definition: "id uuid primary key, key text not null unique",
    columns: "id, key",
    query: "select id, key from permissions",
  },
  {
    name: "wine_types",
    definition: "id uuid primary key, name text not null, color text",
    columns: "id, name, color",
    query: "select id, name, color from wine_types",
  },
  {
    name: "products",
    definition: `id uuid primary key, "erpProductNumber" text, name text, vintage integer, producer text,
      country text, "wineType" uuid references wine_types`,
    columns: `id, "erpProductNumber", name, vintage, producer, country, "wineType"`,
    query:
      "select id, erp_product_number, name, vintage, producer, country, wine_type_id from products",
    indexes: [`products (vintage, name, id)`, `products ("wineType")`],
  },
  {
    name: "campaigns",
    definition: `id uuid primary key default uuidv7(), title text not null, vintage integer, color text, price text not null,
      medium text not null, status text not null default 'DRAFT', "scheduledAt" timestamptz not null,
      product uuid references products on delete set null, author uuid not null references users`,
    columns: `id, title, vintage, color, price, medium, status, "scheduledAt", product, author`,
    query: `select id, title, vintage, color, price, medium, status, scheduled_at, product_id, author_user_id from campaigns`,
    indexes: [`campaigns ("scheduledAt" desc, id)`, `campaigns (product)`, `campaigns (author)`],
  },
  {
    name: "audit_log",
    definition: `id uuid primary key, "actorUserId" uuid, operation text not null, "entityType" text not null, "entityId" text,
      "correlationId" text, "createdAt" timestamptz not null default now(), after jsonb`,
    columns: `id, "actorUserId", operation, "entityType", "entityId", "correlationId", "createdAt", after`,
    query: `select id, actor_user_id, operation, entity_type, entity_id, correlation_id, created_at, after from audit_log`,
    indexes: [`audit_log ("entityType", "createdAt" desc, id desc)`],
  },
];

/** A table that joins two others by the given columns. */
export interface Joining {
  name: string;
  definition: string;
  columns: string;
  indexes: readonly string[];
}

/** The peer's names of the join tables of users and roles, and of roles and permissions. */
export interface Joinings {
  userRoles: Joining;
  rolePermissions: Joining;
}

/** Creates a peer's database on our server and fills it with our rows. `ownUrl` is its superuser URL. */
export async function makeOwnDatabase(
  ourUrl: string,
  ownUrl: string,
  { userRoles, rolePermissions }: Joinings,
): Promise<void> {
  const ours = new pg.Client({
    connectionString: ourUrl,
    options: "-c search_path=backoffice,extensions",
  });
  await ours.connect();
  const name = ours.escapeIdentifier(new URL(ownUrl).pathname.slice(1));
  await ours.query(`drop database if exists ${name} with (force)`);
  await ours.query(`create database ${name}`);
  const own = new pg.Client({
    connectionString: ownUrl,
    // Vacuum does not mark rows as visible to all before their commit is in the WAL, and counting would read each of them.
    options: "-c synchronous_commit=on",
  });
  await own.connect();
  const tables = [
    ...shared,
    { ...userRoles, query: "select user_id, role_id from user_roles" },
    { ...rolePermissions, query: "select role_id, permission_id from role_permissions" },
  ];
  try {
    for (const table of tables) await fill(ours, own, table);
    await own.query("vacuum analyze");
  } finally {
    await own.end();
    await ours.end();
  }
}

async function fill(ours: pg.Client, own: pg.Client, table: Table): Promise<void> {
  await own.query(`create table ${table.name} (${table.definition})`);
  await pipeline(
    ours.query(copyTo(`copy (${table.query}) to stdout`)),
    own.query(copyFrom(`copy ${table.name} (${table.columns}) from stdin`)),
  );
  for (const index of table.indexes ?? []) await own.query(`create index on ${index}`);
}
