import { z } from "zod";
import { removeOrphanedFiles } from "../../exports/removeOrphanedFiles.ts";
import { startWaitingExports } from "./start_exports.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

// The tenants of test runs have no schedule. A job that is already queued there is not added again.
const inTestTenants = `
  select office_jobs.add(task, jsonb_build_object('tenant', a.tenant, 'input', '{}'::jsonb), a.tenant || ':' || task || ':schedule')
  from office_jobs.tenants a, unnest(array['clean_exports', 'remove_files']) as task
  where starts_with(a.tenant, current_schema() || '_e2e_')`;

/**
 * Settles expired and lost exports (`reconcile_exports`) and deletes export files unknown to the database; uploaded
 * workbooks are not scanned. The run in the main tenant queues the same for each test tenant.
 */
export const cleanExports: TaskDefinition = (environment) => {
  const { files } = environment;
  return defineTask(z.strictObject({}), async ({ inTenant, tenant, config, signal, log }) => {
    const { rows } = await inTenant((client) => client.query("select * from reconcile_exports()"));
    log.info({ ...rows[0] }, "exports settled");
    // A worker that died may have left a free slot.
    await inTenant((client) => startWaitingExports(client, config.exports));

    if (tenant === config.database.schema) await inTenant((client) => client.query(inTestTenants));

    const prefix = `${tenant}/exports/`;
    const orphans = await removeOrphanedFiles({ files, prefix, inTenant, signal });
    if (orphans > 0) log.warn({ orphans }, "orphaned files removed");
  })(environment);
};
