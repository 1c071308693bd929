import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";
import { httpUrl } from "./types.ts";

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

/** Invitations by mail. */
export const mailSettings = {
  INVITATION_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "address of the front end's login page, for the link in invitations; required by the worker in production",
    defaultNote: "`PUBLIC_URL/auth/login`",
    example: "https://office.example/login",
  },
  SMTP_URL: {
    schema: smtpUrl,
    fallback: undefined,
    meaning:
      "address of the mail server, `smtps://user:password@host:465` or `smtp://host:25`; required by the worker in production, mail is written to the log and to `DATA_DIR/mail` elsewhere without it",
    example: "smtps://smtp.example:465",
  },
  MAIL_FROM: {
    schema: mailbox,
    fallback: undefined,
    meaning:
      "sender of the service's mail, such as `Back office <office@example.com>`; required by the worker in production",
    example: "Back office <office@wine.example>",
  },
} as const;

export function mailConfig(get: GetSetting<typeof mailSettings>, constants: Constants["mail"]) {
  return { ...constants, smtpUrl: get("SMTP_URL"), from: get("MAIL_FROM") };
}

export function mailNeeds(
  mail: ReturnType<typeof mailConfig>,
  invitationUrl: string | undefined,
): Need[] {
  const purpose = ": the worker mails invitations";
  return [
    { name: "SMTP_URL", role: "worker", isSet: mail.smtpUrl !== undefined, purpose },
    { name: "MAIL_FROM", role: "worker", isSet: mail.from !== undefined, purpose },
    { name: "INVITATION_URL", role: "worker", isSet: invitationUrl !== undefined, purpose },
  ];
}
