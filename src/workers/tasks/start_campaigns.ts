import { z } from "zod";
import { defineTask } from "../queue/task.ts";

/** Starts the scheduled campaigns whose time has come; each is started once, however many workers do this. */
export const startCampaigns = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ started: number }>("select start_due_campaigns() as started"),
  );
  log.info({ started: rows[0]?.started }, "campaigns started");
});
