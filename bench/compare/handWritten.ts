import pg from "pg";

// A good handwritten implementation of the six operations for all servers: statements by `pg`, with batching
// against n+1 queries. It checks nothing.
const pool = new pg.Pool({
  connectionString: process.argv[2],
  max: 10,
  options: "-c search_path=backoffice,extensions",
});

export type Row = Record<string, unknown>;
async function rows(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const result = await pool.query<Row>({ name, text, values });
  return result.rows;
}
const iso = (value: unknown) => (value instanceof Date ? value.toISOString() : value);

/** A field whose values for several rows are found by one statement. */
export interface Gathered {
  /** The property of a row that identifies its related rows. */
  by: string;
  /** The values for these properties of several rows, in order. */
  load: (keys: readonly unknown[]) => Promise<unknown[]>;
}

function many(name: string, text: string, by: string) {
  const load = async (keys: readonly unknown[]) => {
    const found = await rows(name, text, [keys]);
    const byParent = new Map<unknown, Row[]>();
    for (const row of found) {
      const list = byParent.get(row["parent"]);
      if (list) list.push(row);
      else byParent.set(row["parent"], [row]);
    }
    return keys.map((key) => byParent.get(key) ?? []);
  };
  return { by, load };
}
function one(name: string, text: string, by: string): Gathered {
  const { load } = many(name, text, by);
  return { by, load: async (keys) => (await load(keys)).map(([row]) => row ?? null) };
}

export const typeDefs = `
  type Permission { id: ID! key: String! }
  type Role { id: ID! name: String! permissions: [Permission!]! }
  type User { id: ID! email: String! name: String isActive: Boolean! createdAt: String! roles: [Role!]! }
  type WineType { id: ID! name: String! color: String }
  type Product { id: ID! erpProductNumber: String! name: String! vintage: Int producer: String country: String wineType: WineType }
  type Products { nodes: [Product!]! }
  enum Order { NAME_ASC }
  type Campaign { id: ID! title: String! vintage: Int color: String price: String! medium: String! status: String!
    scheduledAt: String! product: Product author: User! }
  type AuditLog { id: ID! actorUserId: ID operation: String! entityType: String! entityId: String correlationId: String
    createdAt: String! after: JSON }
  scalar JSON
  type AuditLogResult { items: [AuditLog!]! total: Int! limit: Int! offset: Int! }
  input AuditLogQueryInput { entityType: String limit: Int = 50 }
  input CreateCampaignInput { title: String! price: String! color: String vintage: Int medium: String! scheduledAt: String!
    productId: ID authorUserId: ID! }
  type Query {
    user(id: ID!): User
    users: [User!]!
    products(query: String, first: Int, orderBy: [Order!]): Products!
    campaigns(first: Int, offset: Int): [Campaign!]!
    auditLogs(input: AuditLogQueryInput): AuditLogResult!
  }
  type Mutation { createCampaign(input: CreateCampaignInput!): Campaign! }`;

const campaignColumns = `id, title, vintage, color, price, medium, status, scheduled_at as "scheduledAt",
  product_id as "productId", author_user_id as "authorId"`;
const userColumns = `id, email, name, is_active as "isActive", created_at as "createdAt"`;

export const resolvers = {
  User: { createdAt: (user: Row) => iso(user["createdAt"]) },
  Campaign: { scheduledAt: (campaign: Row) => iso(campaign["scheduledAt"]) },
  AuditLog: { createdAt: (entry: Row) => iso(entry["createdAt"]) },
  Query: {
    user: async (_root: unknown, { id }: { id: string }) =>
      (await rows("user", `select ${userColumns} from users where id = $1`, [id]))[0] ?? null,
    users: () => rows("users", `select ${userColumns} from users order by email`),
    products: async (_root: unknown, { query, first }: { query: string; first: number }) => ({
      nodes: await rows(
        "products",
        `select id, erp_product_number as "erpProductNumber", name, vintage, producer, country, wine_type_id as "wineTypeId"
         from products where vintage = $1 order by name, id limit $2`,
        [Number(query.split(":")[1]), first],
      ),
    }),
    campaigns: (_root: unknown, { first, offset }: { first: number; offset: number }) =>
      rows(
        "campaigns",
        `select ${campaignColumns} from campaigns order by scheduled_at desc, id limit $1 offset $2`,
        [first, offset],
      ),
    auditLogs: async (
      _root: unknown,
      { input: { entityType, limit } }: { input: { entityType: string; limit: number } },
    ) => {
      const [items, [count]] = await Promise.all([
        rows(
          "audit",
          `select id, actor_user_id as "actorUserId", operation, entity_type as "entityType", entity_id as "entityId",
             correlation_id as "correlationId", created_at as "createdAt", after
           from audit_log where entity_type = $1 order by created_at desc, id desc limit $2`,
          [entityType, limit],
        ),
        rows("total", "select count(*)::integer as total from audit_log where entity_type = $1", [
          entityType,
        ]),
      ]);
      return { items, total: count?.["total"], limit, offset: 0 };
    },
  },
  Mutation: {
    createCampaign: async (_root: unknown, { input }: { input: Row }) =>
      (
        await rows(
          "create",
          `insert into campaigns (title, price, color, vintage, medium, scheduled_at, product_id, author_user_id)
           values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${campaignColumns}`,
          [
            input["title"],
            input["price"],
            input["color"],
            input["vintage"],
            input["medium"],
            input["scheduledAt"],
            input["productId"],
            input["authorUserId"],
          ],
        )
      )[0],
  },
};

export const gathered: Record<string, Record<string, Gathered>> = {
  User: {
    roles: many(
      "user_roles",
      `select ur.user_id as parent, r.id, r.name from user_roles ur join roles r on r.id = ur.role_id
       where ur.user_id = any ($1::uuid[]) order by r.name, r.id`,
      "id",
    ),
  },
  Role: {
    permissions: many(
      "role_permissions",
      `select rp.role_id as parent, p.id, p.key from role_permissions rp join permissions p on p.id = rp.permission_id
       where rp.role_id = any ($1::uuid[]) order by p.key, p.id`,
      "id",
    ),
  },
  Product: {
    wineType: one(
      "wine_types",
      `select id as parent, id, name, color from wine_types where id = any ($1::uuid[])`,
      "wineTypeId",
    ),
  },
  Campaign: {
    product: one(
      "campaign_products",
      `select id as parent, id, name, wine_type_id as "wineTypeId" from products where id = any ($1::uuid[])`,
      "productId",
    ),
    author: one(
      "campaign_authors",
      `select id as parent, ${userColumns} from users where id = any ($1::uuid[])`,
      "authorId",
    ),
  },
};
