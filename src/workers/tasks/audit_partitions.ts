import { z } from "zod";
import { defineTask } from "../queue/task.ts";

const monthsAhead = 2;

/** Makes the audit log's partitions of the next months and drops those whose time is over. */
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
    log.info({ dropped: rows.map((row) => row.dropped) }, "audit partitions kept up");
  },
);
