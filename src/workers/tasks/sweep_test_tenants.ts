import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

const unusedFor = "1 day";

/** Drops the tenants of test runs that were unused for a day. A failure does not keep the others. */
export const sweepTestTenants = defineTask(
  z.strictObject({}),
  async ({ inTenant, log, signal }) => {
    const { rows } = await inTenant((client) =>
      client.query<{ tenant: string }>("select stale_test_tenants($1) as tenant", [unusedFor]),
    );
    const failures: unknown[] = [];
    for (const { tenant } of rows) {
      signal.throwIfAborted();
      try {
        const result = await inTenant((client) =>
          client.query<{ dropped: boolean }>("select drop_tenant($1, $2) as dropped", [
            tenant,
            unusedFor,
          ]),
        );
        log.info(
          { testTenant: tenant },
          result.rows[0]?.dropped === true
            ? "test tenant dropped"
            : "test tenant kept: a job runs in it, or it was used meanwhile",
        );
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `${failures.length} of ${rows.length} tenants could not be dropped`,
      );
  },
);
