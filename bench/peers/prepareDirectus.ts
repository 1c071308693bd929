import { api } from "./directusSettings.ts";
import { makeOwnDatabase } from "./tables.ts";

// Creates Directus' database: our rows, its system tables by its seeds and migrations, and its metadata about our tables.
//   npm run bench -- peers/prepareDirectus <our database's address> <its own>

interface Database {
  (table: string): { insert: (rows: readonly object[]) => Promise<unknown> };
  destroy: () => Promise<void>;
}

const [ourUrl = "", ownUrl = ""] = process.argv.slice(2);
const joining = (name: string, [one, other]: [string, string], [a, b]: [string, string]) => ({
  name,
  definition: `id serial primary key, ${one} uuid not null references ${a} on delete cascade,
    ${other} uuid not null references ${b} on delete cascade, unique (${one}, ${other})`,
  columns: `${one}, ${other}`,
  indexes: [`${name} (${other})`],
});
await makeOwnDatabase(ourUrl, ownUrl, {
  userRoles: joining("user_roles", ["user_id", "role_id"], ["users", "roles"]),
  rolePermissions: joining(
    "role_permissions",
    ["role_id", "permission_id"],
    ["roles", "permissions"],
  ),
});

const { getDatabase } = (await import(`${api}/database/index`)) as { getDatabase: () => Database };
const { default: seed } = (await import(`${api}/database/seeds/run`)) as {
  default: (database: Database) => Promise<void>;
};
const { default: migrate } = (await import(`${api}/database/migrations/run`)) as {
  default: (database: Database, direction: "latest", log: boolean) => Promise<void>;
};
const database = getDatabase();
await seed(database);
await migrate(database, "latest", false);

const collections = [
  "users",
  "roles",
  "permissions",
  "user_roles",
  "role_permissions",
  "wine_types",
  "products",
  "campaigns",
  "audit_log",
];
// Without an activity log, because the other peers have none.
await database("directus_collections").insert(
  collections.map((collection) => ({ collection, accountability: null })),
);
await database("directus_fields").insert([
  { collection: "users", field: "roles", special: "m2m" },
  { collection: "roles", field: "permissions", special: "m2m" },
  { collection: "products", field: "wineType", special: "m2o" },
  { collection: "campaigns", field: "product", special: "m2o" },
  { collection: "campaigns", field: "author", special: "m2o" },
]);
const relation = (many: string, field: string, one: string, rest: object = {}) => ({
  many_collection: many,
  many_field: field,
  one_collection: one,
  one_field: null,
  junction_field: null,
  ...rest,
});
await database("directus_relations").insert([
  relation("user_roles", "user_id", "users", { one_field: "roles", junction_field: "role_id" }),
  relation("user_roles", "role_id", "roles", { junction_field: "user_id" }),
  relation("role_permissions", "role_id", "roles", {
    one_field: "permissions",
    junction_field: "permission_id",
  }),
  relation("role_permissions", "permission_id", "permissions", { junction_field: "role_id" }),
  relation("products", "wineType", "wine_types"),
  relation("campaigns", "product", "products"),
  relation("campaigns", "author", "users"),
]);
await database.destroy();
process.exit();
