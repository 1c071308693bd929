import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

const monthsAhead = 2;

/** Creates the audit log's partitions for the coming months and drops expired ones. */
export const auditPartitions = defineTask(
  z.strictObject({}),
  async ({ config, inTenant, complete, log }) => {
    await inTenant((client) => client.query("select ensure_audit_partitions($1)", [monthsAhead]));
    const { rows } = await complete((client) =>
      client.query<{ dropped: string }>("select drop_old_audit_partitions($1, $2) as dropped", [
        config.audit.writeDays,
        config.audit.readDays,
      ]),
    );
    log.info({ dropped: rows.map((row) => row.dropped) }, "audit partitions maintained");
  },
);
