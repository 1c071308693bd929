import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/**
 * Seals new audit rows in batches, one transaction each. The chain heads are logged because the log is stored
 * elsewhere: a chain that was rebuilt as a whole has other heads.
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
