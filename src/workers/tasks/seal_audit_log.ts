import { z } from "zod";
import { defineTask } from "../queue/task.ts";

/**
 * Seals what was added to the audit log, batch by batch, each in a transaction of its own. The heads of the chains go into the
 * log, which is kept elsewhere: a chain that was made anew as a whole does not have them.
 */
export const sealAuditLog = defineTask(z.strictObject({}), async ({ inTenant, log, signal }) => {
  for (;;) {
    signal.throwIfAborted();
    const { rows } = await inTenant((client) =>
      client.query<{ tree: string; sealed: number; head: string; is_full: boolean }>(
        "select * from seal_audit_log()",
      ),
    );
    for (const { tree, sealed, head } of rows)
      log.info({ chain: tree, sealed, head }, "audit rows sealed");
    if (!rows.some((row) => row.is_full)) return;
  }
});
