import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

const retentionDays = 60;

/** Creates notifications that depend on time, removes old ones and queues mails. */
export const scheduleNotifications = defineTask(z.strictObject({}), async ({ complete, log }) => {
  const { rows } = await complete((client) =>
    client.query<{ removed: number; mails: number }>("select * from schedule_notifications($1)", [
      retentionDays,
    ]),
  );
  log.info(rows[0], "notifications scheduled");
});
