import { z } from "zod";
import { MailError, MailRefusedError } from "../../gateways/mail.ts";
import type { NotificationToMail } from "../../mail/notificationMail.ts";
import { writeNotificationMail } from "../../mail/notificationMail.ts";
import { JobProblem } from "../queue/JobProblem.ts";
import { defineTask } from "../queue/defineTask.ts";

/**
 * Mails the notifications of one person. After a crash before the commit, the mail is sent again with the same
 * Message-ID.
 */
export const sendNotifications = defineTask(
  z.strictObject({ mailId: z.uuid() }),
  async ({ input: { mailId }, config, sendMail, log, signal, inTenant, complete, fail }) => {
    const { rows } = await inTenant((client) =>
      client.query<NotificationToMail>("select * from begin_notification_mail($1)", [mailId]),
    );
    const written = writeNotificationMail(mailId, rows, config);
    if (!written) {
      log.info({ mailId }, "notification mail skipped: no longer needed");
      return;
    }
    try {
      await sendMail(written);
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof MailRefusedError) {
        await fail(error.message, async () => {});
        log.error({ mailId }, "notification mail failed");
        return;
      }
      throw error instanceof MailError ? new JobProblem(error.message, { cause: error }) : error;
    }
    await complete((client) =>
      client.query("select record_notification_mail($1, $2, $3)", [
        mailId,
        rows.map(({ id }) => id),
        rows.map(({ happened_at: time }) => time),
      ]),
    );
    log.info({ mailId, notifications: rows.length }, "notifications mailed");
  },
);
