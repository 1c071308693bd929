import { completeOrders } from "./erpAnswer.ts";
import { defineErpTask } from "./erpRun.ts";

/**
 * Reads orders from the ERP again by their numbers: those with a mapping gap, with a data issue, or those asked for. A worker
 * that goes on with a run begins behind the last number that was committed.
 */
export const reimportOrders = defineErpTask(async (run) => {
  const { runId, client, call, withArea } = run;
  for (;;) {
    run.signal.throwIfAborted();
    const numbers = await withArea(async (database) => {
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
    await withArea((database) =>
      database.query("select take_over_numbers($1, $2, $3, $4)", [
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
