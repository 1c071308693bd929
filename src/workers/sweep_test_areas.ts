import { z } from "zod";
import { defineTask } from "./task.ts";

const unusedFor = "1 day";

/** Drops the areas of test runs that nobody has used for a day. One that cannot be dropped does not keep the others. */
export const sweepTestAreas = defineTask(z.strictObject({}), async ({ withArea, log, signal }) => {
  const { rows } = await withArea((client) =>
    client.query<{ area: string }>("select stale_test_areas($1) as area", [unusedFor]),
  );
  const failures: unknown[] = [];
  for (const { area } of rows) {
    signal.throwIfAborted();
    try {
      const result = await withArea((client) =>
        client.query<{ dropped: boolean }>("select drop_area($1, $2) as dropped", [
          area,
          unusedFor,
        ]),
      );
      // False where a job still runs in it, or where it was used again meanwhile.
      if (result.rows[0]?.dropped) log.info({ testArea: area }, "forgotten test area swept");
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} of ${rows.length} areas could not be dropped`,
    );
});
