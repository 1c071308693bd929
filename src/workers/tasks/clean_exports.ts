import { z } from "zod";
import { removeOrphans } from "../../exports/removeOrphans.ts";
import { startWaiting } from "./start_exports.ts";
import type { TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

// Nothing is scheduled in the tenants of test runs; what waits there already is not added again.
const inTestTenants = `
  select office_jobs.add(task, jsonb_build_object('tenant', a.tenant, 'input', '{}'::jsonb), a.tenant || ':' || task || ':schedule')
  from office_jobs.tenants a, unnest(array['clean_exports', 'remove_files']) as task
  where starts_with(a.tenant, current_schema() || '_e2e_')`;

/**
 * Ends what time has ended (see `reconcile_exports`), and removes exports from the store that the ledger does not know. Uploaded workbooks are never looked for in this way.
 * The main tenant's run has each test run's tenant do the same.
 */
export const cleanExports: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ inTenant, tenant, config, signal, log }) => {
    const { rows } = await inTenant((client) => client.query("select * from reconcile_exports()"));
    log.info({ ...rows[0] }, "exports settled");
    // A worker that died for good has left a slot without telling.
    await inTenant((client) => startWaiting(client, config.exports));

    if (tenant === config.database.schema) await inTenant((client) => client.query(inTestTenants));

    const prefix = `${tenant}/exports/`;
    const orphans = await removeOrphans({ files, prefix, inTenant, signal });
    if (orphans > 0) log.warn({ orphans }, "files removed that nobody knew of");
  })(environment);
};
