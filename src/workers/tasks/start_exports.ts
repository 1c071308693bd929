import type pg from "pg";
import { z } from "zod";
import type { ExportsConfig } from "../../settings/exports.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

/** Queues waiting exports while slots are free; returns their number. */
export async function startWaitingExports(
  client: pg.ClientBase,
  { atOnce, atOncePerUser }: Pick<ExportsConfig, "atOnce" | "atOncePerUser">,
): Promise<number> {
  const { rows } = await client.query<{ started: number }>(
    "select start_exports($1, $2) as started",
    [atOnce, atOncePerUser],
  );
  return rows[0]?.started ?? 0;
}

/** Starts waiting exports. Queued when an export is requested and when a slot becomes free. */
export const startExports: TaskDefinition = defineTask(
  z.strictObject({}),
  async ({ complete, config, log }) => {
    const started = await complete((client) => startWaitingExports(client, config.exports));
    if (started > 0) log.info({ started }, "exports started");
  },
);
