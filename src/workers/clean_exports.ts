import { z } from "zod";
import { removeOrphans } from "./removeOrphans.ts";
import { startWaiting } from "./start_exports.ts";
import type { TaskDefinition } from "./task.ts";
import { defineTask } from "./task.ts";

// Nothing is scheduled in the areas of test runs; what waits there already is not added again.
const inTestAreas = `
  select office_jobs.add(task, jsonb_build_object('area', a.area, 'input', '{}'::jsonb), a.area || ':' || task || ':schedule')
  from office_jobs.areas a, unnest(array['clean_exports', 'remove_files']) as task
  where starts_with(a.area, current_schema() || '_e2e_')`;

/**
 * Ends what time has ended (see `settle_exports`), and removes exports from the store that the ledger does not know. Uploaded workbooks are never looked for in this way.
 * The main area's run has each test run's area do the same.
 */
export const cleanExports: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ withArea, area, config, signal, log }) => {
    const { rows } = await withArea((client) => client.query("select * from settle_exports()"));
    log.info({ ...rows[0] }, "exports settled");
    // A worker that died for good has left a slot without telling.
    await withArea((client) => startWaiting(client, config.exports));

    if (area === config.database.schema) await withArea((client) => client.query(inTestAreas));

    const prefix = `${area}/exports/`;
    const orphans = await removeOrphans({ files, prefix, withArea, signal });
    if (orphans > 0) log.warn({ orphans }, "files removed that nobody knew of");
  })(environment);
};
