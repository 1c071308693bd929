import type pg from "pg";

/** Replaces all orders with `01` to `15`, placed one day apart. */
export async function fifteenOrders(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from orders;
     insert into orders (erp_order_number, placed_at)
     select lpad(n::text, 2, '0'), timestamptz '2026-01-01Z' + make_interval(days => n) from generate_series(1, 15) n`,
  );
}

/** Adds an issue with two occurrences to each of the orders, seen on the given day of February. */
export async function addIssue(
  pool: pg.Pool,
  numbers: string[],
  code: string,
  key: string,
  { day = 1, kind = "MAPPING" } = {},
): Promise<void> {
  await pool.query(
    `insert into order_import_issues (order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at)
     select id, $2, $3, $4, 'No rule: ' || erp_order_number, 'raw ' || $4, 'lines[0]', 2, seen, seen
     from orders, (values (timestamptz '2026-02-01Z' + make_interval(days => $5::integer - 1))) as s(seen)
     where erp_order_number = any ($1)`,
    [numbers, kind, code, key, day],
  );
}
