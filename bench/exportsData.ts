import type pg from "pg";

/** Thirty fields of all kinds, for `bench/exports.ts`. */
export const thirtyFields: readonly string[] = [
  "id erpProductNumber name vintage producer grapeVariety country province region description",
  " alcoholPercent bottleSizeMl stockQuantity isActive sourceUpdatedAt createdAt updatedAt",
  " wineTypeId wineType.name wineType.color prices.retail.DKK prices.wholesale.EUR",
  " ratings.average ratings.count ratings.latest.points ratings.latest.year",
  " ratings.latest.reviewer image.url image.altText ratings.latest.review",
]
  .join("")
  .split(" ");

/** Adds products, each with two prices, a picture and three ratings. Their names are not in the stored order. */
export async function addProducts(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(
    `
    set session_replication_role = replica;
    insert into products (erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, province, region,
      description, alcohol_percent, bottle_size_ml, stock_quantity, source_updated_at)
    select lpad(n::text, 8, '0'), 'Château ' || md5(n::text), 1990 + n % 30, w.id, 'Producer ' || n % 700, 'Grape ' || n % 90,
      'Country ' || n % 40, 'Province ' || n % 300, 'Region ' || n % 900,
      'A wine of the year, ' || repeat(md5(n::text) || ' ', 6), 11 + n % 40 / 10.0, 750, n % 500, now()
    from generate_series(1, ${count}) n
      join (select id, row_number() over () as place, count(*) over () as of from wine_types) w on w.place = n % w.of + 1;
    insert into product_prices (product_id, type, currency, amount)
    select id, 'retail', 'DKK', 100 + vintage % 50 from products union all select id, 'wholesale', 'EUR', 10.25 from products;
    insert into product_images (product_id, url, alt_text) select id, 'https://images.example/' || id || '.png', name from products;
    insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 3) n;
    insert into product_ratings (product_id, reviewer_id, year, points, review)
    select p.id, r.id, 2020, 85 + p.vintage % 10, 'Dark fruit and spice' from products p, reviewers r;
    set session_replication_role = default`,
  );
  for (const table of ["products", "product_prices", "product_ratings", "product_images"])
    await pool.query(`vacuum analyze ${table}`);
}

const numbers =
  /^(?:vintage|alcoholPercent|bottleSizeMl|stockQuantity)$|prices|average|count|points|year/;

/** A thousand rows in the form of an export, with numbers as numbers, for a writer that reads from memory. */
export async function sampleRows(
  pool: pg.Pool,
  exportId: string,
  fields: readonly string[],
): Promise<unknown[][]> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows: statements } = await client.query<{ text: string }>(
      "select set_config('office.user_id', user_id::text, true), export_query($2) as text from export_jobs where id = $1",
      [exportId, fields],
    );
    const sample = await client.query({
      text: `${statements[0]?.text ?? ""} limit 1000`,
      values: [exportId],
      rowMode: "array",
    });
    return sample.rows.map(([, ...row]: unknown[]) =>
      row.map((value, index) => (numbers.test(fields[index] ?? "") ? Number(value) : value)),
    );
  } finally {
    await client.query("rollback");
    client.release();
  }
}
