import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import type { MailGateway } from "./mail.ts";
import { messageIdOf } from "./mail.ts";

/** Stands in for a mail server where none is configured: letters become files, `<time>-<what it is about>.eml`. */
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
      // Whoever watches the folder sees whole letters only.
      await writeFile(`${file}.part`, message, { mode: 0o600 });
      await rename(`${file}.part`, file);
      log.info(
        { to: mail.to, file },
        "no mail server is configured: the mail is in the data folder",
      );
    },
  };
}
