import { z } from "zod";
import { removeOrphanedFiles } from "../../exports/removeOrphanedFiles.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

/**
 * Deletes the assistant's stale data: chunks of finished answers, attachments never sent, files unknown to the
 * database.
 */
export const cleanAssistant: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ inTenant, tenant, signal, log }) => {
    const { rows } = await inTenant((client) =>
      client.query(
        "select remove_old_ai_answers() as answers, remove_unused_ai_attachments() as attachments",
      ),
    );
    log.info({ ...rows[0] }, "assistant data cleaned");
    const prefix = `${tenant}/assistant/`;
    const orphans = await removeOrphanedFiles({ files, prefix, inTenant, signal });
    if (orphans > 0) log.warn({ orphans }, "orphaned files removed");
  })(environment);
};
