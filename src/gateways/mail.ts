import type { Logger } from "pino";

/** One letter to one person. */
export interface Mail {
  /** What it is about, such as an invitation's id: a part of file names. */
  subjectId: string;
  /** The address alone. */
  to: string;
  subject: string;
  text: string;
  html: string;
  /**
   * The part of the Message-ID before the `@`: the same each time that the same letter is sent, so that mailboxes can fold a
   * letter that was sent twice.
   */
  messageId: string;
}

/** Hands letters over. */
export interface MailGateway {
  /** Resolves when the mail server lets us in; absent where there is none. */
  check?: () => Promise<undefined>;
  /**
   * Resolves when the letter was taken. `signal` stops the attempt; what it throws then is the abort itself.
   * @throws MailRefusedError when this letter will never be taken, MailError when it may be later
   */
  send(mail: Mail, options: { signal: AbortSignal; log: Logger }): Promise<void>;
}

/** The letter was not taken this time. The message is for staff to read. */
export class MailError extends Error {
  override name = "MailError";
}

/** This letter, or its recipient, was refused for good. The message is for staff to read. */
export class MailRefusedError extends Error {
  override name = "MailRefusedError";
}

/** The Message-ID of a letter: unique, since the domain is the sender's own. */
export function messageIdOf(mail: Mail, from: string): string {
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(">", "");
  return `<${mail.messageId}@${domain}>`;
}
