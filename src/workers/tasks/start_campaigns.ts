import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Starts the scheduled campaigns that are due, each one once. */
export const startCampaigns = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ started: number }>("select start_due_campaigns() as started"),
  );
  log.info({ started: rows[0]?.started }, "campaigns started");
});
