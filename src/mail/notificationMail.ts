import type { Config } from "../config.ts";
import type { Mail } from "../gateways/mail.ts";
import { escapeHtml } from "../html/escapeHtml.ts";
import { publicUrlOf } from "./publicUrl.ts";

/** A notification as `begin_notification_mail` returns it. */
export interface NotificationToMail {
  email: string;
  title: string;
  body: string | null;
  occurrences: number;
  happened_at: Date;
  /** The recipient's time zone. */
  time_zone: string;
  locale: string;
  id: string;
}

// The mail links to the inbox for the rest.
const maxShown = 100;

/** Writes one mail about notifications of one person, the newest first; undefined without notifications. */
export function writeNotificationMail(
  mailId: string,
  notifications: readonly NotificationToMail[],
  config: Config,
): Mail | undefined {
  const [first] = notifications;
  if (!first) return undefined;
  const time = new Intl.DateTimeFormat(first.locale, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: first.time_zone,
  });
  const inbox = `${publicUrlOf(config)}/admin/notifications`;
  const { length } = notifications;
  const shown = notifications.slice(0, maxShown).map((one) => ({
    ...one,
    title: one.occurrences > 1 ? `${one.title} (${one.occurrences} times)` : one.title,
    time: time.format(one.happened_at),
    url: `${inbox}/${one.id}`,
  }));
  const more = length > maxShown ? `${length - maxShown} more are in the inbox: ${inbox}` : null;
  const settings = `You choose what comes by e-mail: ${publicUrlOf(config)}/admin/notificationPreferences`;
  const subject = length === 1 ? first.title : `${length} notifications from the back office`;
  return {
    subjectId: mailId,
    to: first.email,
    subject,
    messageId: `notifications-${mailId}`,
    text: [
      ...shown.map(({ title, body, time, url }) =>
        [title, body, time, url].filter(Boolean).join("\n"),
      ),
      ...(more === null ? [] : [more]),
      settings,
      "",
    ].join("\n\n"),
    html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>
<body style="font-family: sans-serif; line-height: 1.5">
${shown
  .map(
    ({ title, body, time, url }) =>
      `<p><a href="${escapeHtml(url)}"><strong>${escapeHtml(title)}</strong></a><br>${
        body === null ? "" : `<span style="white-space: pre-line">${escapeHtml(body)}</span><br>`
      }<small>${escapeHtml(time)}</small></p>`,
  )
  .join("\n")}
${more === null ? "" : `<p>${escapeHtml(more)}</p>\n`}<p><small>${escapeHtml(settings)}</small></p>
</body>
</html>
`,
  };
}
