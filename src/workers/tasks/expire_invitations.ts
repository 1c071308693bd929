import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Records expired invitations. Readers see them as expired at once, without this task. */
export const expireInvitations = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ expired: number }>("select expire_invitations() as expired"),
  );
  log.info({ expired: rows[0]?.expired }, "invitations expired");
});
