import type { Config } from "../config.ts";
import { ConfigError } from "../config.ts";
import type { MailGateway } from "./mail.ts";
import { makeMailFolder } from "./mailFolder.ts";
import { makeSmtpClient } from "./smtp.ts";

const defaultSender = "Back office <office@example.com>";

/**
 * The mail server of the settings, or, outside production, the data folder.
 * @throws ConfigError in production without a mail server, a sender and an address for invitations
 */
export function makeMailGateway(config: Config): MailGateway {
  const { smtpUrl, timeoutMs, from = defaultSender } = config.mail;
  if (config.production) {
    const missing = [
      ["SMTP_URL", smtpUrl],
      ["MAIL_FROM", config.mail.from],
      ["INVITATION_URL", config.invitationUrl],
    ].flatMap(([name, value]) =>
      value === undefined
        ? [`${name} is required in production: the worker mails invitations`]
        : [],
    );
    if (missing.length > 0) throw new ConfigError(missing);
  }
  return smtpUrl === undefined
    ? makeMailFolder({ dataDir: config.dataDir, from })
    : makeSmtpClient({ url: smtpUrl, from, timeoutMs });
}
