import { z } from "zod";
import { makeS3Files } from "../gateways/s3Files.ts";
import type { TaskDefinition } from "./task.ts";
import { defineTask } from "./task.ts";

// A file is in the ledger before it is in the store; the hour is for clocks that differ.
const youngMs = 60 * 60 * 1000;
const keysAtOnce = 500;

/**
 * Ends what time has ended (see `settle_exports`), and removes exports from the store that the ledger does not know: there are none,
 * unless the database is older than the store, as after a restore. Uploaded workbooks are never looked for in this way.
 */
export const cleanExports: TaskDefinition = (environment) => {
  const files = makeS3Files(environment.config.files);
  return defineTask(z.strictObject({}), async ({ withArea, area, signal, log }) => {
    const { rows } = await withArea((client) => client.query("select * from settle_exports()"));
    log.info({ ...rows[0] }, "exports settled");

    let orphans = 0;
    const removeOrphans = async (keys: string[]) => {
      const unknown = await withArea((client) =>
        client.query<{ key: string }>("select unknown_files($1) as key", [keys]),
      );
      for (const { key } of unknown.rows) await files.remove(key);
      orphans += unknown.rows.length;
    };
    let keys: string[] = [];
    for await (const { key, modifiedAt } of files.list(`${area}/exports/`)) {
      signal.throwIfAborted();
      if (Date.now() - modifiedAt.getTime() < youngMs) continue;
      if (keys.push(key) < keysAtOnce) continue;
      await removeOrphans(keys);
      keys = [];
    }
    await removeOrphans(keys);
    if (orphans > 0) log.warn({ orphans }, "files removed that nobody knew of");
  })(environment);
};
