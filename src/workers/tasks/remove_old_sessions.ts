import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Deletes sessions that ended long ago. */
export const removeOldSessions = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ removed: number }>("select remove_old_sessions() as removed"),
  );
  log.info({ removed: rows[0]?.removed }, "old sessions removed");
});
