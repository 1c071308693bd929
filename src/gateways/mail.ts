import type { Logger } from "pino";

/** A mail to one recipient. */
export interface Mail {
  /** The id of the subject, such as an invitation; part of file names. */
  subjectId: string;
  /** The address without a display name. */
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The local part of the Message-ID. It is the same for each attempt, so that mailboxes can merge duplicates. */
  messageId: string;
}

/** Sends mail. */
export interface MailGateway {
  /** Resolves when the mail server accepts the login; absent without a server. */
  check?: () => Promise<undefined>;
  /**
   * Resolves when the mail was accepted. When `signal` aborts, rejects with its reason.
   * @throws MailRefusedError for a permanent rejection, MailError for a temporary one
   */
  send(mail: Mail, options: { signal: AbortSignal; log: Logger }): Promise<void>;
}

/** The mail was not accepted this time. The message is for staff. */
export class MailError extends Error {
  override name = "MailError";
}

/** The mail or its recipient was rejected permanently. The message is for staff. */
export class MailRefusedError extends Error {
  override name = "MailRefusedError";
}

/** The Message-ID of a mail, which is unique because the domain is the sender's. */
export function messageIdOf(mail: Mail, from: string): string {
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(">", "");
  return `<${mail.messageId}@${domain}>`;
}
