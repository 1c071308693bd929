import { idOf, type Size } from "./dataSet.ts";

/** One of the six operations that are compared. */
export interface Operation {
  /** The identifier in code; the name is for output. */
  key: "user" | "users" | "products" | "campaigns" | "audit" | "create";
  name: string;
  /** The variables of the nth request. */
  variables: (n: number, size: Size) => Record<string, unknown>;
  /** The document for the published API, and for servers of the same shape. */
  document: string;
  /** The floor's only statement: returns the finished `data` as `json` for the variables in `$1`. */
  sql: string;
  writes?: true;
}

const vintages = (n: number) => 1970 + (n % 50);
const iso = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const userFields = "id email name isActive createdAt roles { id name permissions { id key } }";
const rolesSql = (
  user: string,
  permissions: string,
) => `(select coalesce(json_agg(json_build_object(
    'id', r.id, 'name', r.name${permissions}) order by r.name, r.id), '[]')
  from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = ${user})`;
const permissionsSql = `, 'permissions', (select coalesce(json_agg(json_build_object('id', p.id, 'key', p.key)
    order by p.key, p.id), '[]')
  from role_permissions rp join permissions p on p.id = rp.permission_id where rp.role_id = r.id)`;

export const operations: readonly Operation[] = [
  {
    key: "user",
    name: "a user with roles and permissions",
    variables: (n, size) => ({ id: idOf(1, 1 + (n % size.users)) }),
    document: `query One($id: ID!) { user(id: $id) { ${userFields} } }`,
    sql: `select json_build_object('user', (select json_build_object('id', u.id, 'email', u.email, 'name', u.name,
        'isActive', u.is_active, 'createdAt', ${iso("u.created_at")}, 'roles', ${rolesSql("u.id", permissionsSql)})
      from users u where u.id = ($1::json ->> 'id')::uuid)) as data`,
  },
  {
    key: "users",
    name: "200 users with roles",
    variables: () => ({}),
    document: "query All { users { id email name isActive roles { id name } } }",
    sql: `select json_build_object('users', (select json_agg(json_build_object('id', u.id, 'email', u.email, 'name', u.name,
        'isActive', u.is_active, 'roles', ${rolesSql("u.id", "")}) order by u.email) from users u)) as data`,
  },
  {
    key: "products",
    name: "50 products of a vintage with wine type, ordered by name",
    variables: (n) => ({ query: `vintage:${vintages(n)}`, vintage: vintages(n) }),
    document: `query Vintage($query: String!) { products(query: $query, first: 50, orderBy: [NAME_ASC]) {
      nodes { id erpProductNumber name vintage producer country wineType { id name color } } } }`,
    sql: `select json_build_object('products', json_build_object('nodes', (select json_agg(json_build_object('id', p.id,
        'erpProductNumber', p.erp_product_number, 'name', p.name, 'vintage', p.vintage, 'producer', p.producer,
        'country', p.country, 'wineType', (select json_build_object('id', w.id, 'name', w.name, 'color', w.color)
          from wine_types w where w.id = p.wine_type_id)) order by p.name, p.id)
      from (select * from products where vintage = ($1::json ->> 'vintage')::integer order by name, id limit 50) p))) as data`,
  },
  {
    key: "campaigns",
    name: "100 campaigns with product, wine type, author and roles",
    variables: (n, size) => ({ offset: ((n * 100) % size.campaigns) % 500 }),
    document: `query Campaigns($offset: Int!) { campaigns(first: 100, offset: $offset) {
      id title vintage color price medium status scheduledAt
      product { id name wineType { id name color } } author { id email name roles { id name } } } }`,
    sql: `select json_build_object('campaigns', (select json_agg(json_build_object('id', c.id, 'title', c.title,
        'vintage', c.vintage, 'color', c.color, 'price', c.price, 'medium', c.medium, 'status', c.status,
        'scheduledAt', ${iso("c.scheduled_at")},
        'product', (select json_build_object('id', p.id, 'name', p.name, 'wineType',
            (select json_build_object('id', w.id, 'name', w.name, 'color', w.color) from wine_types w where w.id = p.wine_type_id))
          from products p where p.id = c.product_id),
        'author', (select json_build_object('id', u.id, 'email', u.email, 'name', u.name, 'roles', ${rolesSql("u.id", "")})
          from users u where u.id = c.author_user_id)) order by c.scheduled_at desc, c.id)
      from (select * from campaigns order by scheduled_at desc, id limit 100 offset ($1::json ->> 'offset')::integer) c)) as data`,
  },
  {
    key: "audit",
    name: "an audit page of 50 with total",
    variables: (n) => ({ entityType: ["Campaign", "Product", "Order", "User", "Role"][n % 5] }),
    document: `query Audit($entityType: String!) { auditLogs(input: { entityType: $entityType, limit: 50 }) {
      items { id actorUserId operation entityType entityId correlationId createdAt after } total limit offset } }`,
    sql: `select json_build_object('auditLogs', json_build_object('items', (select json_agg(json_build_object('id', a.id,
        'actorUserId', a.actor_user_id, 'operation', a.operation, 'entityType', a.entity_type, 'entityId', a.entity_id,
        'correlationId', a.correlation_id, 'createdAt', ${iso("a.created_at")}, 'after', a.after)
        order by a.created_at desc, a.id desc)
      from (select * from audit_log where entity_type = $1::json ->> 'entityType'
        order by created_at desc, id desc limit 50) a),
      'total', (select count(*) from audit_log where entity_type = $1::json ->> 'entityType'),
      'limit', 50, 'offset', 0)) as data`,
  },
  {
    key: "create",
    name: "create a campaign and return it with product and author",
    writes: true,
    variables: (n, size) => ({
      input: {
        title: `New campaign ${n}`,
        price: "99 DKK",
        color: "#102030",
        vintage: 2015,
        medium: "EMAIL",
        scheduledAt: "2026-12-24T12:00:00.000Z",
        productId: idOf(3, 1 + ((n * 13) % size.products)),
        authorUserId: idOf(1, 1 + (n % size.users)),
      },
    }),
    document: `mutation Create($input: CreateCampaignInput!) { createCampaign(input: $input) {
      id title price medium status scheduledAt product { id name } author { id email name } } }`,
    sql: `with c as (insert into campaigns (title, price, color, vintage, medium, scheduled_at, product_id, author_user_id)
        select i ->> 'title', i ->> 'price', i ->> 'color', (i ->> 'vintage')::integer, (i ->> 'medium')::campaign_medium,
          (i ->> 'scheduledAt')::timestamptz, (i ->> 'productId')::uuid, (i ->> 'authorUserId')::uuid
        from (select $1::json -> 'input') as v(i) returning *)
      select json_build_object('createCampaign', (select json_build_object('id', c.id, 'title', c.title, 'price', c.price,
        'medium', c.medium, 'status', c.status, 'scheduledAt', ${iso("c.scheduled_at")},
        'product', (select json_build_object('id', p.id, 'name', p.name) from products p where p.id = c.product_id),
        'author', (select json_build_object('id', u.id, 'email', u.email, 'name', u.name) from users u
          where u.id = c.author_user_id)) from c)) as data`,
  },
];
