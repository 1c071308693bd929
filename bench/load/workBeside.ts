import { setTimeout } from "node:timers/promises";
import { after } from "./client.ts";
import type { Fleet } from "./fleet.ts";
import { promise } from "./promises.ts";

/** Lets the worker export all products twice and import the ERP's orders; tells how that ended. */
export async function workBeside(fleet: Fleet): Promise<void> {
  const { rows } = await fleet.pool.query<{ id: string }>("select id from products order by name");
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
  const begin = async () => {
    const { createDataExportFromTemplate: job } = await fleet.ask(
      "mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { id } }",
      { input: { templateId: template.id, productIds: rows.map(({ id }) => id) } },
    );
    return job.id as string;
  };
  await fleet.ask("mutation { importErpOrders { id } }");
  const ids = await Promise.all([begin(), begin()]);
  const started = performance.now();
  // At the least so long, that there is something to measure.
  const least = after(20);
  const limit = after(600);
  for (;;) {
    const { rows: open } = await fleet.pool.query(
      `select from export_jobs where id = any ($1) and state in ('queued', 'running')
         union all select from erp_sync_runs where status in ('QUEUED', 'RUNNING', 'RETRYING')`,
      [ids],
    );
    if ((open.length === 0 && least()) || limit()) break;
    await setTimeout(500);
  }
  const { rows: ended } = await fleet.pool.query<{ state: string; rows: number }>(
    "select state, exported_rows as rows from export_jobs where id = any ($1)",
    [ids],
  );
  const orders = await fleet.pool.query<{ done: number }>(
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
