import { escapeHtml } from "../html/escapeHtml.ts";
import type { Mail } from "../gateways/mail.ts";

/** The data of an invitation mail. */
export interface InvitationMailFacts {
  invitationId: string;
  /** The number of this mail for the invitation, from 1. */
  mailNumber: number;
  email: string;
  roleName: string;
  /** The inviter's name or address; null when the user was deleted. */
  invitedBy: string | null;
  expiresAt: Date;
  /** The recipient's time zone. */
  timeZone: string;
  locale: string;
  /** The login page. */
  url: string;
}

/** Writes the mail of an invitation. It contains no secret: the recipient proves their identity by logging in. */
export function writeInvitationMail(facts: InvitationMailFacts): Mail {
  const { invitationId, mailNumber, email, roleName, expiresAt, timeZone, locale, url } = facts;
  const who = facts.invitedBy ?? "A colleague";
  const day = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone });
  // Names the time zone, because the recipient may be elsewhere.
  const hour = new Intl.DateTimeFormat(locale, {
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    timeZone,
  });
  const until = `${day.format(expiresAt)} at ${hour.format(expiresAt)}`;
  const invites = (name: string, role: string) =>
    `${name} invites you to the back office, with the role ${role}.`;
  const how = `Log in as ${email} until ${until}:`;
  const unasked = "If you did not expect this, leave it: nothing happens unless you log in.";
  return {
    subjectId: invitationId,
    to: email,
    subject: "Invitation to the back office",
    messageId: `invitation-${invitationId}-${mailNumber}`,
    text: ["Hello,", invites(who, roleName), `${how}\n${url}`, unasked, ""].join("\n\n"),
    html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Invitation to the back office</title></head>
<body style="font-family: sans-serif; line-height: 1.5">
<p>Hello,</p>
<p>${invites(`<strong>${escapeHtml(who)}</strong>`, `<strong>${escapeHtml(roleName)}</strong>`)}</p>
<p>${escapeHtml(how)}<br><a href="${escapeHtml(url)}">${escapeHtml(url)}</a></p>
<p>${escapeHtml(unasked)}</p>
</body>
</html>
`,
  };
}
