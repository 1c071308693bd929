import { z } from "zod";
import { removeEach } from "../../exports/removeEach.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

/** Deletes the files that are scheduled for deletion, each one twice; see `files_to_delete`. */
export const removeFiles: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ inTenant, signal, log }) => {
    const { rows } = await inTenant((client) =>
      client.query<{ key: string }>("select files_to_delete() as key"),
    );
    await removeEach(
      rows.map(({ key }) => key),
      {
        async remove(key) {
          await files.remove(key);
          await inTenant((client) => client.query("select record_file_removed($1)", [key]));
        },
        postpone: (key) =>
          inTenant((client) => client.query("select postpone_file_deletion($1)", [key])),
        signal,
      },
    );
    if (rows.length > 0) log.info({ removed: rows.length }, "files removed");
  })(environment);
};
