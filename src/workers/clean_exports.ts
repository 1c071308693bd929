import { z } from "zod";
import { makeS3Files } from "../gateways/s3Files.ts";
import { removeOrphans } from "./removeOrphans.ts";
import type { TaskDefinition } from "./task.ts";
import { defineTask } from "./task.ts";

/**
 * Ends what time has ended (see `settle_exports`), and removes exports from the store that the ledger does not know. Uploaded workbooks are never looked for in this way.
 */
export const cleanExports: TaskDefinition = (environment) => {
  const files = makeS3Files(environment.config.files);
  return defineTask(z.strictObject({}), async ({ withArea, area, signal, log }) => {
    const { rows } = await withArea((client) => client.query("select * from settle_exports()"));
    log.info({ ...rows[0] }, "exports settled");

    const prefix = `${area}/exports/`;
    const orphans = await removeOrphans({ files, prefix, withArea, signal });
    if (orphans > 0) log.warn({ orphans }, "files removed that nobody knew of");
  })(environment);
};
