import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import type { MailGateway } from "./mail.ts";
import { messageIdOf } from "./mail.ts";

/** Replaces the mail server when none is configured: writes mails to files named `<time>-<subject id>.eml`. */
export function makeMailFolder({ dataDir, from }: { dataDir: string; from: string }): MailGateway {
  const folder = join(dataDir, "mail");
  const transport = createTransport({ streamTransport: true, buffer: true });
  return {
    async send(mail, { log }) {
      const { message } = await transport.sendMail({
        from,
        to: { name: "", address: mail.to },
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
        messageId: messageIdOf(mail, from),
        headers: { "Auto-Submitted": "auto-generated" },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const time = new Date().toISOString().replace(/[-:.]/g, "");
      const file = join(folder, `${time}-${mail.subjectId}.eml`);
      await mkdir(folder, { recursive: true });
      // A watcher of the folder sees complete mails only.
      await writeFile(`${file}.part`, message, { mode: 0o600 });
      await rename(`${file}.part`, file);
      log.info(
        { to: mail.to, file },
        "mail written to the data folder: no mail server is configured",
      );
    },
  };
}
