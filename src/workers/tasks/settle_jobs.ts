import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Ends the records of jobs that the queue has lost, and deletes old records and dead jobs. */
export const settleJobs = defineTask(z.strictObject({}), async ({ config, complete, log }) => {
  const days = config.worker.jobDays;
  const { rows } = await complete((client) =>
    client.query<{ lost: number; removed: number; dead: number }>(
      `select fail_lost_jobs() as lost, remove_old_jobs($1) as removed,
        office_jobs.remove_all_dead(make_interval(days => $1)) as dead`,
      [days],
    ),
  );
  log.info(rows[0], "job records settled");
});
