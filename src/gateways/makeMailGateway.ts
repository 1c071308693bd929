import type { Config } from "../config.ts";
import type { MailGateway } from "./mail.ts";
import { makeMailFolder } from "./mailFolder.ts";
import { makeSmtpClient } from "./smtp.ts";

const defaultSender = "Back office <office@example.com>";

/** The mail server of the settings, or, outside production, the data folder. */
export function makeMailGateway(config: Config): MailGateway {
  const { smtpUrl, timeoutMs, from = defaultSender } = config.mail;
  return smtpUrl === undefined
    ? makeMailFolder({ dataDir: config.dataDir, from })
    : makeSmtpClient({ url: smtpUrl, from, timeoutMs });
}
