import { escapeHtml } from "../html/escapeHtml.ts";
import type { Mail } from "../gateways/mail.ts";

/** What an invitation's mail says. */
export interface InvitationMailFacts {
  invitationId: string;
  /** Which mail of this invitation it is, from 1. */
  mailNumber: number;
  email: string;
  roleName: string;
  /** Who invited, by name or address; null when that user is gone. */
  invitedBy: string | null;
  expiresAt: Date;
  /** Where to log in. */
  url: string;
}

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" });

/** Writes the mail of an invitation. It holds no secret: the person proves who they are by logging in. */
export function writeInvitationMail(facts: InvitationMailFacts): Mail {
  const { invitationId, mailNumber, email, roleName, url } = facts;
  const who = facts.invitedBy ?? "A colleague";
  const until = `${day.format(facts.expiresAt)} at ${hour.format(facts.expiresAt)} UTC`;
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
