import type { NodemailerError } from "nodemailer";
import { createTransport } from "nodemailer";
import type { Logger } from "pino";
import { traceCalls } from "../telemetry/traceCalls.ts";
import type { Mail, MailGateway } from "./mail.ts";
import { MailError, MailRefusedError, messageIdOf } from "./mail.ts";

interface SmtpOptions {
  /** `smtp://` or `smtps://`, with login and password where the server wants them. */
  url: string;
  from: string;
  /** For one letter, from looking up the host to the last answer. */
  timeoutMs: number;
}

/** A mail server, spoken to anew for each letter. */
export function makeSmtpClient({ url, from, timeoutMs }: SmtpOptions): MailGateway {
  const { protocol, username } = new URL(url);
  const transport = createTransport({
    url,
    // A password is never sent in the clear.
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
        throw explain(error as NodemailerError, false);
      });
      return undefined;
    },
    async send(mail: Mail, { signal, log }: { signal: AbortSignal; log: Logger }) {
      // The time-outs above are for silence; this one is also for a server that answers bit by bit.
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
        // An answer may hold the address, which has no place in the log; other messages are of the connection.
        log.warn(
          { code, command, responseCode, reason: responseCode ? undefined : message },
          "the mail was not taken",
        );
        throw explain(error as NodemailerError, deadline.aborted);
      }
    },
  };
  return traceCalls("mail", gateway, ["check", "send"]);
}

/** What went wrong, in words for staff: with the mail server's answer, without names of ours. */
function explain(error: NodemailerError, late: boolean): MailError | MailRefusedError {
  const { code, command, responseCode = 0 } = error;
  const answer = tidy(error.response ?? "");
  const aboutThisMail = command === "RCPT TO" || command === "DATA";
  if (responseCode >= 500 && aboutThisMail)
    return new MailRefusedError(`The mail server refused the mail: ${answer}`, { cause: error });
  if (code === "EENVELOPE" && command === "API")
    return new MailRefusedError("The address cannot be written to", { cause: error });
  if (late || code === "ETIMEDOUT")
    return new MailError("The mail server did not answer in time", { cause: error });
  if (code === "EAUTH") return new MailError("The mail server refused the login", { cause: error });
  if (code === "ETLS")
    return new MailError("No secure connection to the mail server came about", { cause: error });
  if (answer !== "")
    return new MailError(`The mail server did not take the mail: ${answer}`, { cause: error });
  return new MailError("The connection to the mail server failed", { cause: error });
}

function tidy(answer: string): string {
  return answer
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, 300);
}
