import type pg from "pg";
import { actAs } from "../database.ts";

/** A row as the API passes it to `sync_products`; it can be malformed. */
export type Row = Record<string, unknown>;

/** The result of `sync_products`. */
export interface Outcome {
  results: {
    erpProductNumber: string;
    status: string;
    productId: string | null;
    errors: { code: string; path: (string | number)[]; message: string }[];
  }[];
  productIds: string[];
  counts: Record<"created" | "updated" | "unchanged" | "stale" | "failed", number>;
  dryRun: boolean;
}

export const allKeys = [
  "products.create",
  "products.update",
  "reviewers.read",
  "reviewers.create",
] as const;

/** Calls `sync_products` as a caller with these permissions, then resets the role to the superuser. */
export async function sync(
  client: pg.ClientBase,
  products: Row[],
  options: { errorPolicy?: string; dryRun?: boolean } = {},
  permissions: readonly string[] = allKeys,
): Promise<Outcome> {
  await actAs(client, { permissions });
  const { rows } = await client.query<{ outcome: Outcome }>(
    "select sync_products($1::jsonb) as outcome",
    [JSON.stringify({ products, ...options })],
  );
  await client.query("set local role none");
  const [row] = rows;
  if (!row) throw new Error("sync_products returned nothing");
  return row.outcome;
}

export const statuses = (outcome: Outcome) => outcome.results.map((result) => result.status);

/** A wine with all sections. */
export function wine(number: string, changes: Row = {}): Row {
  return {
    erpProductNumber: number,
    sourceUpdatedAt: "2026-01-02T03:04:05Z",
    fields: { name: `Wine ${number}`, vintage: 2013, wineType: "Red", alcoholPercent: "13.5" },
    prices: [{ type: "retail", currency: "DKK", amount: "129.95" }],
    images: { mode: "MERGE", items: [{ url: `https://images.example.com/${number}.jpg` }] },
    ratings: [{ reviewerName: "Roger Voss", year: 2015, points: "87", review: "Ripe and fruity" }],
    ...changes,
  };
}

/** All stored columns by product number, without ids and timestamps. */
export async function stored(client: pg.ClientBase): Promise<Record<string, Row>> {
  const { rows } = await client.query<{ stored: Record<string, Row> | null }>(
    `select jsonb_object_agg(p.erp_product_number, jsonb_build_object(
       'name', p.name, 'vintage', p.vintage, 'producer', p.producer, 'wineType', t.name,
       'alcoholPercent', p.alcohol_percent::text, 'isActive', p.is_active,
       'prices', array(
         select concat_ws(' ', x.type, x.currency, x.amount) from product_prices x where x.product_id = p.id order by 1),
       'images', array(
         select concat_ws(' ', x.position, x.url, x.alt_text) from product_images x where x.product_id = p.id order by 1),
       'ratings', array(
         select concat_ws(' ', v.name, x.year, x.points, x.review)
         from product_ratings x join reviewers v on v.id = x.reviewer_id where x.product_id = p.id order by 1)
     )) as stored
     from products p left join wine_types t on t.id = p.wine_type_id`,
  );
  return rows[0]?.stored ?? {};
}

/** The physical row versions of all tables that syncProducts writes, and the audit log's row count. */
export async function fingerprint(client: pg.ClientBase): Promise<unknown> {
  const { rows } = await client.query(
    `select array(select (id, ctid, xmin, updated_at)::text from products order by id) as products,
       array(select (id, ctid, xmin, updated_at)::text from product_prices order by id) as prices,
       array(select (id, ctid, xmin, updated_at)::text from product_images order by id) as images,
       array(select (id, ctid, xmin, updated_at)::text from product_ratings order by id) as ratings,
       array(select (id, ctid, xmin, updated_at)::text from reviewers order by id) as reviewers,
       (select count(*) from audit_log) as audit`,
  );
  return rows[0];
}
