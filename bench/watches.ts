import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { migrateTenant } from "../src/migration/migrateTenant.ts";
import { prepareDatabase } from "../src/migration/prepare.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { readCounts } from "./readCounts.ts";

// What 1,000 search watches cost: `npm run bench -- watches [rounds] [watches]`. Each round changes 1,000 of 20,000 products
// by `sync_products` in a schema without watches and in one with them, in turn. A worker compares the watches until no change
// is left. Prints medians: milliseconds of both writes and their ratio, and seconds from the start of the write until the
// watches are settled.

const { rounds, watches: watchCount } = readCounts({ rounds: 9, watches: 1_000 });
const main = "backoffice";
const [products, batch, watchesOfOne] = [20_000, 1_000, 50];

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `watches-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
const times: Record<"plain" | "watched" | "settled", number[]> = {
  ...{ plain: [], watched: [], settled: [] },
};
let worker: ChildProcess | undefined;
try {
  await prepareDatabase(server.url);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const tenant of ["plain", main]) {
    await migrateTenant(client, tenant);
    await client.query(`set search_path to ${tenant}, extensions, pg_temp`);
    await client.query(
      `insert into products (erp_product_number, name, region, vintage)
       select 'P' || n, 'Wine ' || n, 'Region ' || n % 200, 1990 + n % 30 from generate_series(1, $1) n`,
      [products],
    );
  }
  await addWatches(client, watchCount);
  worker = spawn(process.execPath, [join(import.meta.dirname, "../src/worker.ts")], {
    env: { NODE_ENV: "test", DATABASE_URL: server.url, METRICS_PORT: "off", LOG_LEVEL: "warn" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const settle = async () => {
    for (;;) {
      const { rows } = await client.query<{ left: boolean }>(
        `select exists (select from row_changes where reader = 'watches') or exists (select from search_watches where not is_ready)
           or is_queued('run_watches', 'changes') as left`,
      );
      if (worker?.exitCode !== null) throw new Error("The worker has ended");
      if (!rows[0]?.left) return;
      await delay(20);
    }
  };
  await settle();
  for (let round = 1; round <= rounds; round++) {
    times.plain.push(await sync(client, "plain", round));
    const started = performance.now();
    times.watched.push(await sync(client, main, round));
    await settle();
    times.settled.push((performance.now() - started) / 1000);
  }
  const { rows } = await client.query<{ events: number }>(
    "select sum(match_count)::integer as events from search_watches",
  );
  console.log(`${rows[0]?.events} events`);
  await client.end();
} finally {
  if (worker && worker.exitCode === null) {
    worker.kill("SIGTERM");
    await once(worker, "exit");
  }
  await server.stop();
}

/** Watches of a region or a vintage each, as `createSearchWatch` compiles them. */
async function addWatches(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `insert into users (email, is_active) select 'user' || n || '@example.com', true from generate_series(1, $1) n`,
    [Math.ceil(count / watchesOfOne)],
  );
  await client.query(
    "insert into user_roles (user_id, role_id) select u.id, r.id from users u, roles r where r.is_system",
  );
  const shown = (from: string) => `select t.id, t.name::text from products as t where ${from}`;
  await client.query(
    `insert into search_watches (user_id, name, entity, query, events, table_name, statement, statement_values, seen_statement, ids_at)
     select (array(select u.id from users u order by u.id))[1 + n / $1::integer], 'Watch ' || n, 'products', 'region', '{MATCHES,LEAVES}',
       'products', $2, jsonb_build_array(null, 'region ' || n % 200), $3, 0
     from generate_series(0, $4::integer - 1) n`,
    [
      watchesOfOne,
      `${shown("($1::uuid[] is null or t.id = any ($1::uuid[])) and (search_text(t.region) = $2::text)")} limit 10001`,
      shown("t.id = any ($1::uuid[])"),
      count,
    ],
  );
  await client.query("select queue_watches('saved')");
}

/** Moves 1,000 products to other regions in one call; returns its milliseconds. */
async function sync(client: pg.Client, tenant: string, round: number): Promise<number> {
  const input = JSON.stringify({
    errorPolicy: "REJECT_ALL",
    dryRun: false,
    products: Array.from({ length: batch }, (_, index) => {
      const number = ((round * batch + index) % products) + 1;
      const fields = { name: `Wine ${number}`, region: `Region ${(number + round) % 200}` };
      return {
        erpProductNumber: `P${number}`,
        sourceUpdatedAt: new Date(Date.UTC(2026, 0, 1, 0, 0, round)).toISOString(),
        fields,
      };
    }),
  });
  const started = performance.now();
  await client.query("begin");
  await client.query(
    `select set_config('role', 'office_api', true), set_config('search_path', $1, true), set_config('office.user_id', $2, true),
       set_config('office.permissions', 'products.create,products.update', true), set_config('office.source', 'api', true)`,
    [`${tenant}, extensions, pg_temp`, randomUUID()],
  );
  await client.query("select sync_products($1::jsonb)", [input]);
  await client.query("commit");
  return performance.now() - started;
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const [plain, watched] = [median(times.plain), median(times.watched)];
console.log(
  `${watchCount} watches, ${rounds} rounds of ${batch} changed products: write ${plain.toFixed(0)} ms without, ${watched.toFixed(0)} ms with (${((100 * watched) / plain).toFixed(0)} %), settled after ${median(times.settled).toFixed(1)} s`,
);
