import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { type Client, after } from "./client.ts";
import type { Fleet } from "./fleet.ts";
import { promise } from "./promises.ts";

/**
 * Prepares the export of all products: what returns lets the worker do two of them and import the ERP's orders, and tells how that ended.
 * What is sent is made beforehand and once: who asks has a machine of their own, and making it would take a processor from the server.
 */
export async function prepareWorkBeside(
  fleet: Fleet,
  { send }: Client,
): Promise<() => Promise<void>> {
  const { pool } = fleet;
  const { rows } = await pool.query<{ id: string }>("select id from products order by name");
  const { createExportTemplate: template } = await fleet.ask(
    "mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id } }",
    {
      input: {
        name: `Load ${Date.now()}`,
        kind: "TABLE",
        columns: ["erpProductNumber", "name", "vintage", "producer", "country", "description"].map(
          (field) => ({ field }),
        ),
      },
    },
  );
  const query =
    "mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }";
  const variables = {
    input: { templateId: template.id as string, productIds: rows.map(({ id }) => id) },
  };
  const body = Buffer.from(JSON.stringify({ query, variables }));
  const begin = async () => {
    const { status, failed, text } = await send({ body, writes: true });
    if (status !== 200 || failed) throw new Error(`an export was answered ${status}: ${text}`);
  };
  return async () => {
    await fleet.ask("mutation { importErpOrders { id } }");
    await Promise.all([begin(), begin()]);
    await watchWork(pool, template.id as string);
  };
}

/** Waits for the exports by a template and for the import, and tells how they ended. */
async function watchWork(pool: pg.Pool, template: string): Promise<void> {
  const started = performance.now();
  // At the least so long, that there is something to measure.
  const least = after(20);
  const limit = after(600);
  for (;;) {
    const { rows: open } = await pool.query(
      `select from export_jobs where template_id = $1 and state in ('queued', 'running')
         union all select from erp_sync_runs where status in ('QUEUED', 'RUNNING', 'RETRYING')`,
      [template],
    );
    if ((open.length === 0 && least()) || limit()) break;
    await setTimeout(500);
  }
  const { rows: ended } = await pool.query<{ state: string; rows: number }>(
    "select state, exported_rows as rows from export_jobs where template_id = $1",
    [template],
  );
  const orders = await pool.query<{ done: number }>(
    "select sum(orders_done)::integer as done from erp_sync_runs where status = 'SUCCEEDED'",
  );
  console.log(
    `  after ${((performance.now() - started) / 1000).toFixed(0)} s: exports ${ended.map(({ state, rows: count }) => `${state} with ${count} rows`).join(", ")}; ${orders.rows[0]?.done ?? 0} orders imported`,
  );
  promise(
    "exports that did not end well",
    ended.filter(({ state }) => state !== "completed").length,
    0,
    "",
  );
}
