import type pg from "pg";
import { z } from "zod";
import type { Config } from "../../config.ts";
import type { Mail } from "../../gateways/mail.ts";
import { MailError, MailRefusedError } from "../../gateways/mail.ts";
import { writeInvitationMail } from "../../mail/invitationMail.ts";
import { publicUrlOf } from "../../mail/publicUrl.ts";
import { JobProblem } from "../queue/JobProblem.ts";
import { defineTask } from "../queue/defineTask.ts";

// With the queue's backoff, which grows to six hours, the last of these attempts is 16 hours after the first.
const maxAttempts = 12;

interface InvitationToMail {
  email: string;
  role_name: string;
  invited_by: string | null;
  expires_at: Date;
  mail_number: number;
  attempt: number;
  time_zone: string;
  locale: string;
}

/**
 * Mails an invitation and records it in the transaction that ends the job. After a crash before that commit, the mail
 * is sent again with the same Message-ID. The invitation shows errors and retries.
 */
export const sendInvitation = defineTask(
  z.strictObject({ invitationId: z.uuid() }),
  async ({ input: { invitationId }, config, sendMail, log, signal, inTenant, complete, fail }) => {
    const found = await inTenant((client) => begin(client, invitationId));
    if (!found) {
      log.info({ invitationId }, "invitation mail skipped: no longer needed");
      return;
    }
    const record = async (client: pg.ClientBase, error: string | null) => {
      const { rows } = await client.query<{ latest: boolean }>(
        "select record_invitation_mail($1, $2, $3) as latest",
        [invitationId, found.mail_number, error],
      );
      return rows[0]?.latest;
    };
    try {
      await sendMail(letter(found, invitationId, config));
    } catch (error) {
      if (signal.aborted) throw error;
      const refused = error instanceof MailRefusedError;
      const known = refused || error instanceof MailError;
      const reason = known ? error.message : "The mail could not be sent";
      if (!refused && found.attempt < maxAttempts) {
        const latest = await inTenant((client) => record(client, `${reason} (it will be retried)`));
        // The invitation was resent meanwhile, and another job sends the newer mail.
        if (!latest) return;
        throw new JobProblem(reason, { cause: error });
      }
      const outcome = refused ? reason : `${reason} (given up after ${found.attempt} attempts)`;
      await fail(outcome, (client) => record(client, outcome));
      log.error({ invitationId, ...(!known && { err: error }) }, "invitation mail failed");
      return;
    }
    await complete((client) => record(client, null));
    log.info({ invitationId, mail: found.mail_number }, "invitation mailed");
  },
);

async function begin(
  client: pg.ClientBase,
  invitationId: string,
): Promise<InvitationToMail | undefined> {
  const { rows } = await client.query<InvitationToMail>("select * from begin_invitation_mail($1)", [
    invitationId,
  ]);
  return rows[0];
}

function letter(found: InvitationToMail, invitationId: string, config: Config): Mail {
  return writeInvitationMail({
    invitationId,
    mailNumber: found.mail_number,
    email: found.email,
    roleName: found.role_name,
    invitedBy: found.invited_by,
    expiresAt: found.expires_at,
    timeZone: found.time_zone,
    locale: found.locale,
    url: config.invitationUrl ?? `${publicUrlOf(config)}/auth/login`,
  });
}
