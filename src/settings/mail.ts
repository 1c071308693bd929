import { z } from "zod";
import type { Get, Need } from "./types.ts";
import { httpUrl, whole } from "./types.ts";

const smtpUrl = z
  .string()
  .regex(/^smtps?:\/\/[^\s]+$/, "must be an smtp:// or smtps:// address")
  .refine(
    (value) => URL.canParse(value) && new URL(value).hostname !== "",
    "must be an smtp:// or smtps:// address with a host",
  );
const mailbox = z
  .string()
  .regex(
    /^(?:[^<>",;:@\r\n]{1,100} <[^\s<>@",;]+@[^\s<>@",;]+>|[^\s<>@",;]+@[^\s<>@",;]+)$/,
    "must be an e-mail address such as `Back office <office@example.com>`",
  );

/** Invitations, and the mail that carries them. */
export const mailSettings = {
  INVITATION_DAYS: {
    schema: whole(1, 365),
    fallback: "7",
    meaning: "days that an invitation is valid",
  },
  INVITATION_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "the front end's login page, to which invitations by mail lead; required by the worker in production, by default `PUBLIC_URL/auth/login`",
  },
  SMTP_URL: {
    schema: smtpUrl,
    fallback: undefined,
    meaning:
      "mail server, `smtps://user:password@host:465` or `smtp://host:25`; required by the worker in production, elsewhere mail is written to the log and to `DATA_DIR/mail`",
  },
  SMTP_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "30000",
    meaning: "longest time that handing one mail to the mail server may take, in milliseconds",
  },
  MAIL_FROM: {
    schema: mailbox,
    fallback: undefined,
    meaning:
      "sender of the service's mail, `Back office <office@example.com>`; required by the worker in production",
  },
} as const;

export function mailConfig(get: Get<typeof mailSettings>) {
  return { smtpUrl: get("SMTP_URL"), timeoutMs: get("SMTP_TIMEOUT_MS"), from: get("MAIL_FROM") };
}

export function invitationConfig(get: Get<typeof mailSettings>) {
  return { invitationDays: get("INVITATION_DAYS"), invitationUrl: get("INVITATION_URL") };
}

export function mailNeeds(
  mail: ReturnType<typeof mailConfig>,
  invitationUrl: string | undefined,
): Need[] {
  const purpose = ": the worker mails invitations";
  return [
    { name: "SMTP_URL", role: "worker", given: mail.smtpUrl !== undefined, purpose },
    { name: "MAIL_FROM", role: "worker", given: mail.from !== undefined, purpose },
    { name: "INVITATION_URL", role: "worker", given: invitationUrl !== undefined, purpose },
  ];
}
