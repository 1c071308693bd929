import { z } from "zod";
import { defineTask } from "./task.ts";

/** Starts the scheduled campaigns whose time has come; each is started once, however many workers do this. */
export const startCampaigns = defineTask(z.strictObject({}), async ({ finish, log }) => {
  const { rows } = await finish((client) =>
    client.query<{ started: number }>("select start_due_campaigns() as started"),
  );
  log.info({ started: rows[0]?.started }, "campaigns started");
});
