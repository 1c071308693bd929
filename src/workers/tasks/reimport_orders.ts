import { completeOrders } from "../../erp/completeOrders.ts";
import { defineErpTask } from "../../erp/defineErpTask.ts";

/**
 * Re-reads orders from the ERP by number: those with a mapping gap or data issue, and those requested. A resumed run
 * starts after the last number that was committed.
 */
export const reimportOrders = defineErpTask(async (run) => {
  const { runId, client, call, inTenant } = run;
  for (;;) {
    run.signal.throwIfAborted();
    const numbers = await inTenant(async (database) => {
      const { rows } = await database.query<{ number: string }>(
        "select number from erp_run_numbers($1, $2) as number",
        [runId, run.pageSize],
      );
      return rows.map((row) => row.number);
    });
    if (numbers.length === 0) return;
    const found = await client.ordersByNumbers(numbers, call);
    const answer = await completeOrders(run, found.records, found.unreadable);
    const gone = new Set(found.invoiced);
    await inTenant((database) =>
      database.query("select import_numbers($1, $2, $3, $4)", [
        runId,
        numbers.at(-1),
        JSON.stringify({
          ...answer,
          invoiced: found.invoiced,
          missing: found.missing.filter((number) => !gone.has(number)),
        }),
        run.timeZone,
      ]),
    );
  }
});
