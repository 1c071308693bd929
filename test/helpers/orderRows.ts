import type pg from "pg";

/** The numbers of generated rows. */
export interface OrderRows {
  orders: number;
  /** Open import issues per order, with ten codes and many keys; six in ten are MAPPING. */
  issuesPerOrder?: number;
  linesPerOrder?: number;
  /** Share of the orders with the same time and amount. */
  tied?: number;
}

/**
 * Inserts generated customers, orders, lines and import issues.
 * Bypasses triggers and foreign keys for speed and writes their results itself, so the client must be a
 * superuser. Orders are numbered from `00000001`; one in fifty is superseded.
 */
export async function insertOrderRows(client: pg.ClientBase, rows: OrderRows): Promise<void> {
  const { orders, issuesPerOrder = 0, linesPerOrder = 0, tied = 0 } = rows;
  await client.query("set session_replication_role = replica");
  await client.query(
    `insert into customers (erp_customer_number, name, city, country)
     select lpad(n::text, 6, '0'), 'Customer ' || n, 'Town ' || n % 50, 'Country ' || n % 20 from generate_series(1, $1::integer) n`,
    [Math.ceil(orders / 20)],
  );
  await client.query(
    `insert into orders (erp_order_number, customer_id, customer_name, placed_at, status, currency, net_amount, total_amount,
       has_import_mapping_issue, has_import_data_issue)
     select lpad(n::text, 8, '0'), c.id, c.name,
       timestamptz '2026-01-01 12:00Z' + case when tied then '0' else make_interval(mins => n) end,
       (enum_range(null::order_status))[1 + n % 7], 'DKK', amount, amount * 1.25, $4 > 0, $4 > 1
     from generate_series(1, $1::integer) n
       cross join lateral (select n % 100 < $2::numeric * 100 as tied) as t
       cross join lateral (select case when tied then 100 else n end as amount) as a
       join customers c on c.erp_customer_number = lpad((1 + n % $3::integer)::text, 6, '0')`,
    [orders, tied, Math.ceil(orders / 20), issuesPerOrder],
  );
  await client.query(
    `update orders o set superseded_by_order_id = s.id
     from orders s
     where o.erp_order_number ~ '(00|50)$' and s.erp_order_number = lpad((o.erp_order_number::integer - 1)::text, 8, '0')`,
  );
  if (linesPerOrder > 0)
    await client.query(
      `insert into order_lines (order_id, line_number, kind, erp_product_number, description, quantity, unit_price, amount)
       select o.id, i * 10000, 'PRODUCT', '1', 'Line ' || i, i, 10, i * 10 from orders o, generate_series(1, $1::integer) i`,
      [linesPerOrder],
    );
  if (issuesPerOrder > 0)
    await client.query(
      `insert into order_import_issues (order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at,
         order_placed_at, order_is_superseded)
       select o.id, case when i % 10 in (2, 4, 6, 8) then 'DATA' else 'MAPPING' end::order_import_issue_kind,
         (array['line_kind.unmapped', 'product.missing', 'payment_method.unmapped', 'customer.missing', 'vat_code.unmapped',
           'price.missing', 'shipping_method.unmapped', 'quantity.invalid', 'currency.unmapped', 'warehouse.unmapped'])[1 + (i - 1) % 10],
         'key ' || ((i - 1) / 10)::text || ' ' || floor(400 * power(h, 3))::text, 'There is no rule for it', 'value', 'lines[0]', 1 + i % 3,
         o.placed_at, o.placed_at + make_interval(days => i), o.placed_at, o.superseded_by_order_id is not null
       from orders o, generate_series(1, $1::integer) i,
         lateral (select (hashtextextended(o.erp_order_number, i) & 65535) / 65536.0 as h) as r`,
      [issuesPerOrder],
    );
  await client.query(
    `insert into order_import_causes (kind, code, key, order_count, occurrences, first_seen_at, last_seen_at)
     select kind, code, key, count(*), sum(occurrences), min(first_seen_at), max(last_seen_at)
     from order_import_issues where resolved_at is null and not order_is_superseded
     group by kind, code, key`,
  );
  await client.query("set session_replication_role = default");
  await client.query("vacuum analyze customers, orders, order_lines, order_import_issues");
}
