import type { Config } from "../config.ts";
import type { MailGateway } from "./mail.ts";
import { makeMailFolder } from "./mailFolder.ts";
import { makeSmtpClient } from "./smtp.ts";

const defaultSender = "Back office <office@example.com>";

/** The configured mail server, or outside production a folder in the data directory. */
export function makeMailGateway(config: Config): MailGateway {
  const { smtpUrl, timeoutMs, from = defaultSender } = config.mail;
  return smtpUrl === undefined
    ? makeMailFolder({ dataDir: config.dataDir, from })
    : makeSmtpClient({ url: smtpUrl, from, timeoutMs });
}
