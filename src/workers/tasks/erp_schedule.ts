import { z } from "zod";
import { defineTask } from "../queue/task.ts";

/** Queues the imports and rechecks that are due, and ends runs that no worker will go on with. */
export const erpSchedule = defineTask(z.strictObject({}), async ({ config, complete, log }) => {
  if (config.erp.clientId === undefined) {
    log.debug("no ERP is configured, nothing is imported");
    return;
  }
  const { minutes, timeZone } = config.erpImport;
  await complete((client) => client.query("select run_erp_schedule($1, $2)", [minutes, timeZone]));
});
