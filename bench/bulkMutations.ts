import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../src/migration/migrate.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { startServerProcess } from "../test/helpers/service.ts";
import { readCounts } from "./readCounts.ts";

// The same change of many products, over HTTP with the real server: by one `updateProducts`, by its dry run, when one row is
// rejected and must be found, and by `updateProduct` in operations of 20; and reading the same rows in pages of 250:
//   npm run bench -- bulkMutations [rounds]
// Every round runs all of them in turn, so that a slow period affects each.

const { rounds } = readCounts({ rounds: 5 });
const sizes = [100, 1_000, 5_000];

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `bulk-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
try {
  await migrate({ ownerUrl: server.url, tenant: "backoffice" }, () => {});
  const pool = new pg.Pool({
    connectionString: server.url,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  const ids = new Map<number, string[]>();
  for (const size of sizes) {
    const { rows } = await pool.query<{ id: string }>(
      `insert into products (erp_product_number, name, region)
       select $1::text || '-' || n, 'Wine ' || n, 'Region ' || $1::text from generate_series(1, $1::integer) as n returning id`,
      [size],
    );
    ids.set(
      size,
      rows.map(({ id }) => id),
    );
  }
  // A rule that the last product of each region breaks.
  await pool.query(
    `alter table products add constraint products_bench_check check (erp_product_number not in ('100-100', '1000-1000', '5000-5000') or vintage is distinct from 1999);
     comment on constraint products_bench_check on products is 'must not be 1999 for this wine'`,
  );
  await pool.query("vacuum analyze products");
  const service = await startServerProcess({
    database: { url: server.url, pool, drop: async () => {} },
    env: { LOG_LEVEL: "warn" },
  });
  const { token } = await service.login(["products.read", "products.update"]);
  const ask = (query: string, variables: Record<string, unknown>) =>
    service.ask(query, { token, variables });

  let value = 0;
  const change = async (
    size: number,
    { input, dryRun = false }: { input: object; dryRun?: boolean },
  ) =>
    ask(
      "mutation ($query: String, $input: UpdateProductInput!, $dryRun: Boolean!) { updateProducts(query: $query, input: $input, dryRun: $dryRun) { changed } }",
      { query: `region:"Region ${size}"`, input, dryRun },
    );
  const ways: Record<string, (size: number) => Promise<void>> = {
    "one updateProducts": async (size) => {
      const answer = await change(size, { input: { country: `C${++value}` } });
      assert.deepEqual(answer.data.updateProducts, { changed: size }, JSON.stringify(answer));
    },
    "its dry run": async (size) => {
      const answer = await change(size, { input: { country: `C${++value}` }, dryRun: true });
      assert.deepEqual(answer.data.updateProducts, { changed: size }, JSON.stringify(answer));
    },
    "with a row that is rejected": async (size) => {
      const answer = await change(size, { input: { vintage: 1999 } });
      assert.match(answer.errors?.[0]?.message ?? "", /^Wine \d+: /);
    },
    "updateProduct, 20 an operation": async (size) => {
      const all = ids.get(size) ?? [];
      const input = JSON.stringify(`C${++value}`);
      for (let start = 0; start < all.length; start += 20) {
        const fields = all
          .slice(start, start + 20)
          .map(
            (_id, index) =>
              `f${index}: updateProduct(id: $i${index}, input: {country: ${input}}) { id }`,
          );
        const declared = fields.map((_field, index) => `$i${index}: ID!`).join(", ");
        const variables = Object.fromEntries(
          fields.map((_field, index) => [`i${index}`, all[start + index]]),
        );
        const answer = await ask(`mutation (${declared}) { ${fields.join(" ")} }`, variables);
        assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
      }
    },
    "read in pages of 250": async (size) => {
      for (let offset = 0; offset < size; offset += 250) {
        const answer = await ask(
          "query ($query: String, $offset: Int) { products(query: $query, first: 250, offset: $offset) { nodes { id name country region vintage } } }",
          { query: `region:"Region ${size}"`, offset },
        );
        assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
      }
    },
  };
  console.log(`median of ${rounds} rounds, in ms; ms a row`);
  for (const size of sizes) {
    const times = new Map<string, number[]>();
    for (let round = 0; round <= rounds; round++)
      for (const [name, run] of Object.entries(ways)) {
        const from = performance.now();
        await run(size);
        // The first round includes planning and compilation.
        if (round > 0) times.set(name, [...(times.get(name) ?? []), performance.now() - from]);
      }
    for (const [name, all] of times) {
      const median = all.toSorted((a, b) => a - b)[rounds >> 1] ?? NaN;
      console.log(
        `${String(size).padStart(5)} ${name.padEnd(34)}${median.toFixed(0).padStart(8)}${(median / size).toFixed(2).padStart(8)}`,
      );
    }
  }
  await service.stop();
  await pool.end();
} finally {
  await server.stop();
}
