import { z } from "zod";
import { removeOrphans } from "../../exports/removeOrphans.ts";
import type { TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

/** Removes what of the assistant is of no use any more: pieces of answers that are over, files never sent with a message, orphans. */
export const cleanAssistant: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ inTenant, tenant, signal, log }) => {
    const { rows } = await inTenant((client) =>
      client.query(
        "select remove_old_ai_answers() as answers, remove_unused_ai_attachments() as attachments",
      ),
    );
    log.info({ ...rows[0] }, "the assistant was tidied up");
    const prefix = `${tenant}/assistant/`;
    const orphans = await removeOrphans({ files, prefix, inTenant, signal });
    if (orphans > 0) log.warn({ orphans }, "files removed that nobody knew of");
  })(environment);
};
