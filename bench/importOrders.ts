import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../src/migration/migrate.ts";
import { migrateTenant } from "../src/migration/migrateTenant.ts";
import { readConfig } from "../src/config.ts";
import { startErpEmulator } from "../dev/emulators/erpEmulator.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { makeErpClient } from "../src/gateways/makeErpClient.ts";
import { countStatements } from "../test/helpers/countStatements.ts";
import type { ErpAnswer } from "../test/helpers/erpRecords.ts";
import { importErpResponse } from "../test/helpers/erpRecords.ts";
import { waitFor } from "../test/helpers/waitFor.ts";
import { readCounts } from "./readCounts.ts";

// The first import of many orders by the real worker from the emulated ERP, and the peak of that worker's memory. Then its first
// pages again without worker and ERP, compared with bare inserts of the same rows:
//   npm run bench -- importOrders [orders] [orders in a page]
// The bare inserts write the same pages into tables with the same indexes and foreign keys, once without any trigger and once
// with those of the service (time stamps, audit, counts of issues).

const { orders, pageSize } = readCounts({ orders: 10_000, pageSize: 200 });
const samplePages = 25;

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `import-orders-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
const erp = await startErpEmulator({ port: 0, seed: "bench", orders });
const constants = { erp: { pageSize } };
const pool = new pg.Pool({ connectionString: server.url, max: 2 });

/** A connection to the tenant, which is created when necessary. */
async function connectTo(tenant: string): Promise<pg.PoolClient> {
  const client = await pool.connect();
  await migrateTenant(client, tenant);
  await client.query(`set search_path to ${tenant}, extensions, pg_temp`);
  return client;
}

async function countRows(client: pg.ClientBase) {
  const { rows } = await client.query<Record<"orders" | "lines" | "issues" | "customers", number>>(
    `select (select count(*)::integer from orders) as orders, (select count(*)::integer from order_lines) as lines,
       (select count(*)::integer from order_import_issues) as issues, (select count(*)::integer from customers) as customers`,
  );
  if (!rows[0]) throw new Error("nothing was counted");
  return rows[0];
}

function report(name: string, counted: Awaited<ReturnType<typeof countRows>>, ms: number): void {
  const rows = counted.orders + counted.lines + counted.issues + counted.customers;
  const perSecond = (count: number) => `${Math.round((count * 1000) / ms)}/s`;
  console.log(
    `${name.padEnd(44)} ${(ms / 1000).toFixed(1).padStart(7)} s  rows ${perSecond(rows)}  orders ${perSecond(counted.orders)}`,
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function importByWorker(): Promise<void> {
  const worker = fork("test/helpers/officeProcess.ts", ["worker", JSON.stringify(constants)], {
    env: { PATH: process.env.PATH, ...erp.env, DATABASE_URL: server.url, LOG_LEVEL: "error" },
  });
  await new Promise((resolve) => worker.once("message", resolve));
  const memory = (what: "VmHWM" | "VmRSS") => {
    const status = readFileSync(`/proc/${worker.pid}/status`, "utf8");
    return Math.round(Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  };
  const client = await connectTo("backoffice");
  let atTenth = 0;
  const ms = await timed(async () => {
    const queued = await client.query<{ id: string }>("select (queue_erp_run('IMPORT')).id");
    const ended = async () => {
      const { rows } = await client.query<{ status: string; done: number; error: string | null }>(
        "select status, orders_done as done, error from erp_sync_runs where id = $1",
        [queued.rows[0]?.id],
      );
      if (rows[0]?.status === "FAILED") throw new Error(rows[0].error ?? "the run failed");
      if (atTenth === 0 && (rows[0]?.done ?? 0) > orders / 10) atTenth = memory("VmRSS");
      return rows[0]?.status === "SUCCEEDED";
    };
    await waitFor("the import", ended, 3_600_000);
  });
  const most = memory("VmHWM");
  const counted = await countRows(client);
  client.release();
  if (counted.orders !== orders) throw new Error(`${counted.orders} of ${orders} orders came in`);
  console.log(`\n${JSON.stringify(counted)}, pages of ${pageSize}`);
  report("the worker, from the ERP", counted, ms);
  console.log(`its memory: ${atTenth} MB after a tenth of the orders, ${most} MB at most\n`);
  worker.kill("SIGTERM");
  await new Promise((resolve) => worker.once("exit", resolve));
}

async function importPages(): Promise<void> {
  const erpClient = makeErpClient(readConfig(erp.env, [], constants));
  if (!erpClient) throw new Error("no ERP is configured");
  const pages: ErpAnswer[] = [];
  for (let cursor: string | null = null, done = false; !done;) {
    const page = await erpClient.changedCustomers(cursor);
    pages.push({ customers: page.records });
    ({ cursor, done } = page);
  }
  let cursor: string | null = null;
  for (let count = 0; count < samplePages; count++) {
    const page = await erpClient.changedOrders(cursor);
    pages.push({ orders: page.records });
    if (page.done) break;
    cursor = page.cursor;
  }
  const client = await connectTo("imported");
  const ms = await timed(async () => {
    for (const page of pages) await importErpResponse(client, page);
  });
  const counted = await countRows(client);
  report("the database's part of the import", counted, ms);
  const again = await timed(async () => {
    for (const page of pages) await importErpResponse(client, page);
  });
  report("the same pages again, which writes nothing", counted, again);
  await client.query("begin; delete from orders");
  const statements = await countStatements(client, () =>
    importErpResponse(client, pages.at(-1) ?? {}),
  );
  await client.query("rollback");
  console.log(
    `${JSON.stringify(counted)}; a new page takes ${statements} statements in the database`,
  );
  client.release();
}

/** Every imported page with its rows as JSON, without superseding orders, which refer to later rows. */
async function storedPages(): Promise<string[]> {
  const client = await connectTo("imported");
  const { rows } = await client.query<{ page: string }>(
    `select jsonb_build_object(
       'orders', jsonb_agg(to_jsonb(o) || '{"superseded_by_order_id": null}'), 'lines', jsonb_agg(l.lines),
       'issues', jsonb_agg(i.issues)
     )::text as page
     from (select n.id, (row_number() over (order by n.id) - 1) / $1 as page from orders n) as p
       join orders o on o.id = p.id
       cross join lateral (select jsonb_agg(to_jsonb(l)) as lines from order_lines l where l.order_id = o.id) as l
       cross join lateral (
         select coalesce(jsonb_agg(to_jsonb(i)), '[]') as issues from order_import_issues i where i.order_id = o.id
       ) as i
     group by p.page order by p.page`,
    [pageSize],
  );
  client.release();
  return rows.map(({ page }) => page);
}

/** The columns of a table that take values: not the generated ones. */
async function writtenColumns(client: pg.PoolClient, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? "";
}

async function insertBare(name: string, tenant: string, withTriggers: boolean): Promise<void> {
  const pages = await storedPages();
  const client = await connectTo(tenant);
  const tables = ["customers", "orders", "order_lines", "order_import_issues"];
  for (const table of tables)
    await client.query(`alter table ${table} ${withTriggers ? "enable" : "disable"} trigger user`);
  const columns: Record<string, string> = {};
  for (const table of tables) columns[table] = await writtenColumns(client, table);
  const ms = await timed(async () => {
    await client.query(
      `insert into customers (${columns["customers"]}) select ${columns["customers"]} from imported.customers`,
    );
    for (const page of pages) {
      await client.query("begin");
      await client.query(
        `insert into orders (${columns["orders"]})
         select ${columns["orders"]} from jsonb_populate_recordset(null::orders, $1::jsonb -> 'orders')`,
        [page],
      );
      for (const [table, part] of [
        ["order_lines", "lines"],
        ["order_import_issues", "issues"],
      ] as const)
        await client.query(
          `insert into ${table} (${columns[table]})
           select ${columns[table]?.replaceAll(/[^, ]+/g, "r.$&")} from jsonb_array_elements($1::jsonb -> '${part}') as o(rows),
             jsonb_populate_recordset(null::${table}, o.rows) as r`,
          [page],
        );
      await client.query("commit");
    }
  });
  report(name, await countRows(client), ms);
  client.release();
}

try {
  await migrate({ ownerUrl: server.url, tenant: "backoffice" }, () => {});
  await importByWorker();
  await importPages();
  await insertBare("bare inserts of the same rows", "bare", false);
  await insertBare("bare inserts with the service's triggers", "audited", true);
} finally {
  await pool.end();
  await erp.stop();
  await server.stop();
}
