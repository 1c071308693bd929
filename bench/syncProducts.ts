import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrateTenant } from "../src/migration/migrateTenant.ts";
import { prepareDatabase } from "../src/migration/prepare.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { type Wine, readWines } from "./wines.ts";

// Rows per second of syncProducts compared with a bare `insert ... on conflict do update` of the same rows, in calls of 1000:
//   npm run bench -- syncProducts <wine-reviews.csv> [rounds]
// The bare inserts write the same four tables with the same indexes and foreign keys, once without any trigger and once with
// those of the service (timestamps and audit). Every round runs all of them in turn, so that a slow period affects each.

const [path, rounds = "5"] = process.argv.slice(2);
if (!path) throw new Error("Say where the CSV file is");
const callSize = 1000;

const wines = readWines(path);
const calls: Wine[][] = [];
for (let start = 0; start + callSize <= wines.length; start += callSize) {
  calls.push(wines.slice(start, start + callSize));
}

const orNull = (text: string) => (text === "" ? null : text);

function syncInput(call: Wine[], priceSurcharge: number, revision: number): string {
  return JSON.stringify({
    errorPolicy: "REJECT_FAILED_ROWS",
    dryRun: false,
    products: call.map((wine) => ({
      erpProductNumber: wine.erp_product_number,
      sourceUpdatedAt: new Date(Date.UTC(2026, 0, 1, 0, 0, revision)).toISOString(),
      fields: {
        name: wine.name,
        vintage: wine.vintage ? Number(wine.vintage) : null,
        producer: orNull(wine.producer),
        grapeVariety: orNull(wine.variety),
        country: orNull(wine.country),
        province: orNull(wine.province),
        region: orNull(wine.region),
        wineType: "Red",
      },
      prices: wine.price_usd
        ? [
            {
              type: "retail",
              currency: "USD",
              amount: String(Number(wine.price_usd) + priceSurcharge),
            },
          ]
        : [],
      ratings: wine.reviewer_name
        ? [{ reviewerName: wine.reviewer_name, points: wine.points, review: wine.review }]
        : [],
    })),
  });
}

const bareStatements = [
  `insert into products (erp_product_number, name, vintage, producer, grape_variety, country, province, region, wine_type_id, source_updated_at)
   select r."erpProductNumber", f.name, f.vintage, f.producer, f."grapeVariety", f.country, f.province, f.region, t.id, r."sourceUpdatedAt"
   from jsonb_to_recordset($1::jsonb -> 'products') as r("erpProductNumber" text, "sourceUpdatedAt" timestamptz, fields jsonb),
     jsonb_to_record(r.fields) as f(name text, vintage integer, producer text, "grapeVariety" text, country text, province text, region text, "wineType" text)
     join wine_types t on t.name = f."wineType"
   on conflict (erp_product_number) do update set name = excluded.name, vintage = excluded.vintage,
     producer = excluded.producer, grape_variety = excluded.grape_variety, country = excluded.country,
     province = excluded.province, region = excluded.region, wine_type_id = excluded.wine_type_id,
     source_updated_at = excluded.source_updated_at, updated_at = now()`,
  `insert into product_prices (product_id, type, currency, amount)
   select p.id, i.type, i.currency, i.amount
   from jsonb_to_recordset($1::jsonb -> 'products') as r("erpProductNumber" text, prices jsonb)
     join products p on p.erp_product_number = r."erpProductNumber",
     jsonb_to_recordset(r.prices) as i(type text, currency text, amount numeric)
   on conflict (product_id, type, currency) do update set amount = excluded.amount, updated_at = now()`,
  `insert into reviewers (name)
   select distinct i."reviewerName"
   from jsonb_to_recordset($1::jsonb -> 'products') as r(ratings jsonb),
     jsonb_to_recordset(r.ratings) as i("reviewerName" text)
   on conflict (name_key(name)) do nothing`,
  `insert into product_ratings (product_id, reviewer_id, points, review)
   select p.id, v.id, i.points, i.review
   from jsonb_to_recordset($1::jsonb -> 'products') as r("erpProductNumber" text, ratings jsonb)
     join products p on p.erp_product_number = r."erpProductNumber",
     jsonb_to_recordset(r.ratings) as i("reviewerName" text, points numeric, review text)
     join reviewers v on lower(v.name) = lower(i."reviewerName")
   on conflict (product_id, reviewer_id, year) do update set points = excluded.points, review = excluded.review, updated_at = now()`,
];

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `sync-products-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
const seconds = new Map<string, number[]>();
try {
  await prepareDatabase(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const tenant of ["bare", "audited", "synced"]) await migrateTenant(client, tenant);
  for (const table of ["products", "product_prices", "product_ratings", "reviewers"]) {
    await client.query(`alter table bare.${table} disable trigger user`);
  }

  const call = async (tenant: string, name: string, input: string) => {
    const started = performance.now();
    await client.query("begin");
    await client.query(
      `select set_config('role', $1, true), set_config('search_path', $2, true), set_config('office.user_id', $3, true),
         set_config('office.permissions', 'products.create,products.update,reviewers.read,reviewers.create', true),
         set_config('office.source', 'api', true)`,
      [tenant === "synced" ? "office_api" : "office_owner", `${tenant}, extensions`, randomUUID()],
    );
    if (tenant === "synced") await client.query("select sync_products($1::jsonb)", [input]);
    else for (const text of bareStatements) await client.query(text, [input]);
    await client.query("commit");
    const times = seconds.get(name) ?? [];
    times.push((performance.now() - started) / 1000);
    seconds.set(name, times);
  };

  for (let round = 0; round < Number(rounds); round++) {
    for (const tenant of ["bare", "audited", "synced"]) {
      await client.query(`delete from ${tenant}.products; delete from ${tenant}.reviewers`);
      await client.query(
        `vacuum analyze ${tenant}.products, ${tenant}.product_prices, ${tenant}.product_ratings, ${tenant}.reviewers`,
      );
    }
    for (const [pass, surcharge, revision] of [
      ["create", 0, 0],
      ["change", round + 1, 1],
      ["repeat", round + 1, 1],
    ] as const) {
      for (const wineCall of calls) {
        const input = syncInput(wineCall, surcharge, revision);
        for (const tenant of ["bare", "audited", "synced"])
          await call(tenant, `${pass}: ${tenant}`, input);
      }
    }
  }
  await client.end();
} finally {
  await server.stop();
}

const names = {
  bare: "bare insert ... on conflict, no triggers",
  audited: "the same with time stamps and audit",
  synced: "syncProducts",
};
const median = (name: string) => {
  const values = (seconds.get(name) ?? []).toSorted((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? NaN;
};
console.log(`${calls.length} calls of ${callSize} rows, ${rounds} rounds, medians`);
for (const pass of ["create", "change", "repeat"]) {
  const bare = median(`${pass}: bare`);
  for (const [tenant, name] of Object.entries(names)) {
    const time = median(`${pass}: ${tenant}`);
    console.log(
      [
        pass.padEnd(8),
        name.padEnd(42),
        `${Math.round(callSize / time)} rows/s`.padStart(14),
        `${Math.round(time * 1000)} ms a call`.padStart(16),
        `${(time / bare).toFixed(1)}x`.padStart(7),
      ].join(""),
    );
  }
}
