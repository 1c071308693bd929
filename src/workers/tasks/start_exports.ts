import type pg from "pg";
import { z } from "zod";
import type { ExportsConfig } from "../../settings/exports.ts";
import type { TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

/** Puts waiting exports into the queue while slots are free; returns how many. */
export async function startWaiting(
  client: pg.ClientBase,
  { atOnce, atOncePerUser }: Pick<ExportsConfig, "atOnce" | "atOncePerUser">,
): Promise<number> {
  const { rows } = await client.query<{ started: number }>(
    "select start_exports($1, $2) as started",
    [atOnce, atOncePerUser],
  );
  return rows[0]?.started ?? 0;
}

/** Starts waiting exports, queued whenever one is asked for or another has left its slot. */
export const startExports: TaskDefinition = defineTask(
  z.strictObject({}),
  async ({ complete, config, log }) => {
    const started = await complete((client) => startWaiting(client, config.exports));
    if (started > 0) log.info({ started }, "exports started");
  },
);
