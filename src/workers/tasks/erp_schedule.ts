import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Queues due imports and rechecks, and ends runs that no worker will continue. */
export const erpSchedule = defineTask(z.strictObject({}), async ({ config, complete, log }) => {
  if (config.erp.clientId === undefined) {
    log.debug("ERP import skipped: no ERP is configured");
    return;
  }
  const { minutes, timeZone } = config.erpImport;
  await complete((client) => client.query("select run_erp_schedule($1, $2)", [minutes, timeZone]));
});
