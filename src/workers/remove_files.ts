import { z } from "zod";
import type { TaskDefinition } from "./task.ts";
import { defineTask } from "./task.ts";

/** Removes from the file store what the ledger has condemned; each file twice, see `condemned_files`. */
export const removeFiles: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ withArea, signal, log }) => {
    const { rows } = await withArea((client) =>
      client.query<{ key: string }>("select condemned_files() as key"),
    );
    for (const { key } of rows) {
      signal.throwIfAborted();
      await files.remove(key);
      await withArea((client) => client.query("select note_file_removed($1)", [key]));
    }
    if (rows.length > 0) log.info({ removed: rows.length }, "files removed");
  })(environment);
};
