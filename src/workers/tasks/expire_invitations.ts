import { z } from "zod";
import { defineTask } from "../queue/task.ts";

/** Settles the invitations whose time is over. Readers see them as expired at once; this is for the record. */
export const expireInvitations = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ expired: number }>("select expire_invitations() as expired"),
  );
  log.info({ expired: rows[0]?.expired }, "invitations settled");
});
