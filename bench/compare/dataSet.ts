import type pg from "pg";

/** The number of rows of each kind. */
export interface Size {
  products: number;
  orders: number;
  campaigns: number;
  auditRows: number;
  users: number;
  roles: number;
}

/** The data set of the figures in RESULTS.md. */
export const fullSize: Size = {
  products: 50_000,
  orders: 100_000,
  campaigns: 5_000,
  auditRows: 1_000_000,
  users: 200,
  roles: 20,
};

/**
 * Fills a migrated database with deterministic rows (except for times): three lines for each order, two or three roles for each
 * user, a dozen permissions for each role. Triggers are disabled, so that the audit log contains only the intended rows.
 */
export async function fill(client: pg.ClientBase, size: Size): Promise<void> {
  const id = (kind: number, n: string) =>
    `lpad(to_hex(${kind}), 8, '0')::text || '-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0')`;
  await client.query("begin");
  await client.query("set local session_replication_role = replica");
  await client.query(`
    insert into users (id, email, name, avatar_url, is_active)
      select (${id(1, "n")})::uuid, 'person' || n || '@example.com', 'Person ' || n,
        case when n % 3 = 0 then 'https://img.example.com/' || n || '.png' end, true
      from generate_series(1, ${size.users}) as n;
    insert into roles (id, name, description)
      select (${id(2, "n")})::uuid, 'Role ' || n, 'What role ' || n || ' is for'
      from generate_series(1, ${size.roles}) as n;
    insert into role_permissions (role_id, permission_id)
      select (${id(2, "n")})::uuid, p.id
      from generate_series(1, ${size.roles}) as n
        join (select id, row_number() over (order by key) as k from permissions) as p on (p.k + n) % 3 = 0;
    insert into user_roles (user_id, role_id)
      select distinct (${id(1, "n")})::uuid, (${id(2, `1 + (n * 7 + m * 5) % ${size.roles}`)})::uuid
      from generate_series(1, ${size.users}) as n, generate_series(0, 1 + ${size.users} % 2 + 1) as m
      where m <= 1 + n % 2;
    insert into products (id, erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province,
        description, alcohol_percent, bottle_size_ml, stock_quantity)
      select (${id(3, "n")})::uuid, lpad(n::text, 8, '0'), 'Château ' || (n * 7919 % 99991) || ' Réserve ' || n,
        1970 + n % 50, (select w.id from (select id, row_number() over (order by name) - 1 as k from wine_types) as w
          where w.k = n % (select count(*) from wine_types)),
        'Producer ' || n % 997, 'Grape ' || n % 41, (array['France', 'Italy', 'Spain', 'Germany', 'Portugal'])[1 + n % 5],
        'Province ' || n % 60, repeat('Ripe fruit and a long finish. ', 5), 12.5 + n % 5 * 0.5, 750, n % 500
      from generate_series(1, ${size.products}) as n;
    insert into campaigns (id, product_id, title, vintage, color, note, price, author_user_id, medium, scheduled_at, status)
      select (${id(4, "n")})::uuid, case when n % 5 > 0 then (${id(3, `1 + n * 13 % ${size.products}`)})::uuid end,
        'Campaign ' || n, 1990 + n % 30, '#A0B0C0', 'Note of campaign ' || n, (n % 90 + 10) || ' DKK',
        (${id(1, `1 + n % ${size.users}`)})::uuid,
        (enum_range(null::campaign_medium))[1 + n % 7], timestamptz '2026-01-01 00:00Z' + n * interval '1 hour', 'DRAFT'
      from generate_series(1, ${size.campaigns}) as n;
    insert into customers (id, erp_customer_number, name, city, country)
      select (${id(5, "n")})::uuid, 'C' || lpad(n::text, 6, '0'), 'Customer ' || n, 'City ' || n % 100, 'DK'
      from generate_series(1, greatest(${size.orders} / 20, 1)) as n;
    insert into orders (id, erp_order_number, customer_id, placed_at, status, currency, net_amount, total_amount)
      select (${id(6, "n")})::uuid, 'SO' || lpad(n::text, 8, '0'), (${id(5, `1 + n % greatest(${size.orders} / 20, 1)`)})::uuid,
        timestamptz '2026-06-01 00:00Z' - n * interval '3 minutes', 'OPEN', 'DKK', n % 5000, n % 5000 * 1.25
      from generate_series(1, ${size.orders}) as n;
    insert into order_lines (order_id, line_number, kind, product_id, description, quantity, unit_price, amount)
      select (${id(6, "n")})::uuid, m * 10000, 'PRODUCT', (${id(3, `1 + (n * 3 + m) % ${size.products}`)})::uuid,
        'Line ' || m, m, 100, m * 100
      from generate_series(1, ${size.orders}) as n, generate_series(1, 3) as m;
    insert into audit_log (actor_user_id, operation, entity_type, entity_id, correlation_id, ip_address, after, metadata, created_at)
      select (${id(1, `1 + n % ${size.users}`)})::uuid, (array['CREATE', 'UPDATE', 'READ', 'DELETE'])[1 + n % 4],
        (array['Campaign', 'Product', 'Order', 'User', 'Role'])[1 + n % 5], (${id(4, `1 + n % ${size.campaigns}`)}),
        'request-' || n, '10.0.' || n % 250 || '.7', jsonb_build_object('title', 'Campaign ' || n, 'price', n % 90),
        '{"source": "api"}', date_trunc('month', now()) - n * interval '1 second'
      from generate_series(1, ${size.auditRows}) as n;
  `);
  await client.query("commit");
  await client.query("vacuum analyze");
}

/** The id of the nth row of a kind: 1 users, 2 roles, 3 products, 4 campaigns. */
export function idOf(kind: number, n: number): string {
  return `${kind.toString(16).padStart(8, "0")}-0000-7000-8000-${n.toString(16).padStart(12, "0")}`;
}
