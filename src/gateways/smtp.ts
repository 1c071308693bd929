import type { NodemailerError } from "nodemailer";
import { createTransport } from "nodemailer";
import type { Logger } from "pino";
import { traceCalls } from "../telemetry/traceCalls.ts";
import type { Mail, MailGateway } from "./mail.ts";
import { MailError, MailRefusedError, messageIdOf } from "./mail.ts";

interface SmtpOptions {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  url: string;
  from: string;
  /** The limit for one mail, from name resolution to the last response. */
  timeoutMs: number;
}

/** An SMTP client that opens a connection for each mail. */
export function makeSmtpClient({ url, from, timeoutMs }: SmtpOptions): MailGateway {
  const { protocol, username } = new URL(url);
  const transport = createTransport({
    url,
    // Never sends a password unencrypted.
    requireTLS: protocol === "smtp:" && username !== "",
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    socketCloseTimeout: 1_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const gateway = {
    async check() {
      await transport.verify().catch((error: unknown) => {
        throw describeFailure(error as NodemailerError, false);
      });
      return undefined;
    },
    async send(mail: Mail, { signal, log }: { signal: AbortSignal; log: Logger }) {
      // The timeouts above apply to silence; this one also stops a server that answers byte by byte.
      const deadline = AbortSignal.timeout(timeoutMs);
      try {
        await transport.sendMail({
          from,
          to: { name: "", address: mail.to },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          messageId: messageIdOf(mail, from),
          headers: { "Auto-Submitted": "auto-generated" },
          signal: AbortSignal.any([signal, deadline]),
        });
      } catch (error) {
        signal.throwIfAborted();
        const { code, command, responseCode, message } = error as NodemailerError;
        // A server's response may contain the recipient's address, which is not logged.
        log.warn(
          { code, command, responseCode, reason: responseCode ? undefined : message },
          "mail not accepted",
        );
        throw describeFailure(error as NodemailerError, deadline.aborted);
      }
    },
  };
  return traceCalls("mail", gateway, ["check", "send"]);
}

/** Describes the failure for staff, with the mail server's response and without internal names. */
function describeFailure(error: NodemailerError, late: boolean): MailError | MailRefusedError {
  const { code, command, responseCode = 0 } = error;
  const answer = sanitizeReply(error.response ?? "");
  const aboutThisMail = command === "RCPT TO" || command === "DATA";
  if (responseCode >= 500 && aboutThisMail)
    return new MailRefusedError(`The mail server refused the mail: ${answer}`, { cause: error });
  if (code === "EENVELOPE" && command === "API")
    return new MailRefusedError("The mail server rejected the recipient's address", {
      cause: error,
    });
  if (late || code === "ETIMEDOUT")
    return new MailError("The mail server did not answer in time", { cause: error });
  if (code === "EAUTH") return new MailError("The mail server refused the login", { cause: error });
  if (code === "ETLS")
    return new MailError("No secure connection to the mail server", { cause: error });
  if (answer !== "")
    return new MailError(`The mail server did not accept the mail: ${answer}`, { cause: error });
  return new MailError("The connection to the mail server failed", { cause: error });
}

function sanitizeReply(answer: string): string {
  return answer
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, 300);
}
