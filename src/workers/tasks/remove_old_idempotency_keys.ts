import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Deletes stored responses of idempotency keys that are older than a day. */
export const removeOldIdempotencyKeys = defineTask(
  z.strictObject({}),
  async ({ complete, log }) => {
    const { rows } = await complete((client) =>
      client.query<{ removed: number }>("select remove_old_idempotency_keys() as removed"),
    );
    log.info({ removed: rows[0]?.removed }, "old idempotency keys removed");
  },
);
