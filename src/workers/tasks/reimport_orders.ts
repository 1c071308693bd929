import { completeOrders } from "../../erp/completeOrders.ts";
import type { ErpResponse } from "../../erp/completeOrders.ts";
import type { ErpRun } from "../../erp/defineErpTask.ts";
import { defineErpTask } from "../../erp/defineErpTask.ts";

/**
 * Re-reads orders from the ERP by number: those with a mapping gap or data issue, those that could not be read, and those
 * requested; and customers that could not be read. A resumed run starts after the last number that was committed.
 */
export const reimportOrders = defineErpTask(async (run) => {
  const { client, call } = run;
  await reimport(run, "erp_run_numbers", async (numbers) => {
    const found = await client.ordersByNumbers(numbers, call);
    const gone = new Set(found.invoiced);
    return {
      ...(await completeOrders(run, found.records, found.unreadable)),
      invoiced: found.invoiced,
      missing: found.missing.filter((number) => !gone.has(number)),
    };
  });
  await reimport(run, "erp_run_customers", async (numbers) => {
    const found = await client.customersByNumbers(numbers, call);
    return {
      customers: found.records,
      unreadableCustomers: found.unreadable,
      missingCustomers: found.missing,
    };
  });
});

/** Reads the records with the next numbers that the SQL function `next` returns, until there are none. */
async function reimport(
  { runId, inTenant, pageSize, timeZone, signal, databaseTime }: ErpRun,
  next: "erp_run_numbers" | "erp_run_customers",
  read: (numbers: readonly string[]) => Promise<ErpResponse>,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const numbers = await inTenant(async (database) => {
      const { rows } = await database.query<{ number: string }>(
        `select number from ${next}($1, $2) as number`,
        [runId, pageSize],
      );
      return rows.map((row) => row.number);
    });
    if (numbers.length === 0) return;
    const askedAt = await databaseTime();
    const answer = await read(numbers);
    await inTenant((database) =>
      database.query("select import_numbers($1, $2, $3, $4, $5)", [
        runId,
        next === "erp_run_customers",
        numbers.at(-1),
        JSON.stringify({ ...answer, askedAt }),
        timeZone,
      ]),
    );
  }
}
