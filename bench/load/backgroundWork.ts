import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { type Client, after } from "./client.ts";
import type { Fleet } from "./fleet.ts";
import { checkAtMost } from "./loadLimits.ts";

/** The number of exports for the worker. */
const exported = 2;
/** Two more are requested at once and cancelled after this many milliseconds each. */
const cancelAfterMs = 3_000;

/**
 * Prepares the export of all products. The returned function makes the worker run two of them and an import of the ERP's
 * orders, requests more that are cancelled, and reports the result. Requests are built once in advance, because building
 * them would take CPU time from the server.
 */
export async function prepareBackgroundWork(
  fleet: Fleet,
  { send }: Client,
): Promise<() => Promise<void>> {
  const { pool } = fleet;
  const { rows } = await pool.query<{ ids: string }>(
    "select json_agg(id order by name)::text as ids from products",
  );
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
  const body = Buffer.from(
    `{"query":${JSON.stringify(query)},"variables":{"input":{"templateId":"${template.id as string}","productIds":${rows[0]?.ids ?? "[]"}}}}`,
  );
  const begin = async () => {
    const { status, failed, text } = await send({ body, writes: true });
    if (status !== 200 || failed) throw new Error(`an export was answered ${status}: ${text}`);
  };
  const open = async () => {
    const { rows: jobs } = await pool.query<{ id: string }>(
      "select id from export_jobs where template_id = $1 and state in ('queued', 'running')",
      [template.id],
    );
    return jobs.map(({ id }) => id);
  };
  return async () => {
    await fleet.ask("mutation { importErpOrders { id } }");
    const started = performance.now();
    await Promise.all(Array.from({ length: exported }, begin));
    const kept = await open();
    let asked = kept.length;
    // The minimum duration of the measurement.
    const least = after(20);
    const limit = after(600);
    while (!limit() && ((await isAtWork(pool)) || !least())) {
      await setTimeout(cancelAfterMs);
      // Requests for many products block others the longest.
      await Promise.all([begin(), begin()]);
      const others = (await open()).filter((id) => !kept.includes(id));
      for (const id of others)
        await fleet.ask("mutation ($id: ID!) { cancelExportJob(id: $id) { id } }", { id });
      asked += others.length;
    }
    await printWork(pool, template.id as string, { started, asked });
  };
}

/** Whether exports or imports are pending. */
async function isAtWork(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query(
    `select from export_jobs where state in ('queued', 'running')
       union all select from erp_sync_runs where status in ('QUEUED', 'RUNNING', 'RETRYING')`,
  );
  return rows.length > 0;
}

/** Reports the result. */
async function printWork(
  pool: pg.Pool,
  template: string,
  { started, asked }: { started: number; asked: number },
): Promise<void> {
  const { rows } = await pool.query<{ ended: number; rows: number }>(
    `select count(*)::integer as ended, sum(exported_rows)::integer as rows from export_jobs
     where template_id = $1 and state = 'completed'`,
    [template],
  );
  const [{ ended, rows: exportedRows } = { ended: 0, rows: 0 }] = rows;
  const orders = await pool.query<{ done: number }>(
    "select sum(orders_done)::integer as done from erp_sync_runs where status = 'SUCCEEDED'",
  );
  console.log(
    `  after ${((performance.now() - started) / 1000).toFixed(0)} s: ${asked} exports asked for, ${ended} completed with ${exportedRows} rows, the others cancelled; ${orders.rows[0]?.done ?? 0} orders imported`,
  );
  checkAtMost("exports that did not end well", exported - ended, 0, "");
}
