import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import type { InvitationDatabase } from "../helpers/workers/invitationDatabase.ts";
import { createInvitationDatabase } from "../helpers/workers/invitationDatabase.ts";
import type { MailServer } from "../helpers/workers/mailServer.ts";
import { startMailServer } from "../helpers/workers/mailServer.ts";
import { endWorkers, launch, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let db: InvitationDatabase;
let server: MailServer;
const settings = () => ({
  SMTP_URL: server.url,
  MAIL_FROM: "Back office <office@wine.example>",
  INVITATION_URL: "https://office.example/login?from=mail&x=1",
});

beforeAll(async () => {
  [db, server] = await Promise.all([createInvitationDatabase(), startMailServer()]);
});
afterAll(async () => {
  await endWorkers();
  await server?.close();
  await db?.drop();
});

describe("with a mail server", () => {
  let worker: Awaited<ReturnType<typeof startWorkerProcess>>;

  beforeAll(async () => {
    worker = await startWorkerProcess(db.url, settings());
  });
  afterAll(() => endWorkers());

  test("an invitation is mailed once, with inviter, role and expiry", async () => {
    const id = await db.invite("anna@example.com");
    const after = await db.waitUntilSettled(id);
    expect(after).toMatchObject({ mail_error: null, mail_attempts: 1, state: "pending" });
    expect(after.mailed_at).toBeInstanceOf(Date);

    await db.enqueueAgain(id);
    await db.waitUntilSettled(id);
    const letters = server.mailsTo("anna@example.com");
    expect(letters).toHaveLength(1);
    const [{ text, messageId }] = letters as [(typeof letters)[0]];
    expect(messageId).toBe(`<invitation-${id}-1@wine.example>`);
    expect(text).toContain("From: Back office <office@wine.example>");
    expect(text).toContain("Auto-Submitted: auto-generated");
    expect(text).toContain(
      "Ines Vega invites you to the back office, with the role Tasting & <Sales>.",
    );
    expect(text).toContain("with the role <strong>Tasting &amp; &lt;Sales&gt;</strong>");
    expect(text).toContain("\nhttps://office.example/login?from=mail&x=1\n");
    expect(text).toContain('<a href="https://office.example/login?from=mail&amp;x=1">');
  });

  describe("the expiry in a mail", () => {
    const setOffice = (timeZone: string, locale: string) =>
      db.pool.query("update backoffice.office_settings set time_zone = $1, locale = $2", [
        timeZone,
        locale,
      ]);
    beforeAll(() => setOffice("America/New_York", "da-DK"));
    afterAll(() => setOffice("Europe/Copenhagen", "en-GB"));
    const expiryIn = async (email: string) => {
      const id = await db.invite(
        email,
        "update invitations set expires_at = '2037-07-01T22:30:00Z' where id = $1",
      );
      await db.waitUntilSettled(id);
      return /until (.*):/.exec(server.mailsTo(email)[0]?.text ?? "")?.[1];
    };

    test("is in the time zone and the locale of the office", async () => {
      expect(await expiryIn("new@example.com")).toBe("1. juli 2037 at 18.30 GMT-4");
    });

    test("is in the time zone and the locale of the invited user", async () => {
      await db.pool.query(
        "insert into backoffice.users (email, time_zone, locale) values ('known@example.com', 'Asia/Tokyo', 'en-US')",
      );
      expect(await expiryIn("known@example.com")).toBe("July 2, 2037 at 07:30 AM GMT+9");
    });
  });

  test("the audit log records the mail's outcome as a job's change", async () => {
    const id = await db.invite("audited@example.com");
    await db.waitUntilSettled(id);
    const { rows } = await db.pool.query(
      `select actor_user_id, metadata ->> 'source' as source, after - 'mailedAt' as after
        from audit_log where entity_type = 'Invitation' and entity_id = $1 and operation = 'UPDATE'`,
      [id],
    );
    expect(rows).toEqual([{ actor_user_id: null, source: "job", after: {} }]);
  });

  test("a rejected address is not retried, and the invitation shows the reason", async () => {
    server.setBehaviour("nobody@example.com", "refuse");
    const id = await db.invite("nobody@example.com");
    expect(await db.waitUntilSettled(id)).toMatchObject({
      mailed_at: null,
      mail_error: "The mail server refused the mail: 550 No such user as nobody@example.com",
      mail_attempts: 1,
      state: "pending",
    });
    expect(server.mailsTo("nobody@example.com")).toEqual([]);
  });

  test("a temporarily rejected mail is retried, and the invitation shows the reason meanwhile", async () => {
    server.setBehaviour("later@example.com", "later");
    const id = await db.invite("later@example.com");
    await waitFor(
      "the first attempt",
      async () => (await db.invitation(id)).mail_error ?? undefined,
    );
    expect(await db.invitation(id)).toMatchObject({
      mailed_at: null,
      mail_error:
        "The mail server did not accept the mail: 451 Try again in a moment (it will be retried)",
    });
    await db.runJobNow(id);
    const after = await db.waitUntilSettled(id);
    expect(after).toMatchObject({ mail_error: null, mail_attempts: 2 });
    expect(after.mailed_at).not.toBeNull();
    expect(server.mailsTo("later@example.com")).toHaveLength(1);
  });

  test.each([
    ["revoked", "select revoke_invitation($1)"],
    ["expired", "update invitations set expires_at = now() where id = $1"],
    ["accepted", "select activate_user((select user_id from invitations where id = $1))"],
  ])("an invitation that was %s meanwhile is not mailed", async (what, change) => {
    const id = await db.invite(`${what}@example.com`, change);
    expect(await db.waitUntilSettled(id)).toMatchObject({ mailed_at: null, mail_error: null });
    expect(server.mailsTo(`${what}@example.com`)).toEqual([]);
  });

  test("a rolled back invitation sends no mail", async () => {
    await expect(db.invite("undone@example.com", "select 1 / 0 where $1 <> ''")).rejects.toThrow(
      "division",
    );
    // Jobs of the schedule may wait at the same time.
    const { rows } = await db.pool.query(
      "select from office_jobs.queue where task = 'send_invitation'",
    );
    expect(rows).toEqual([]);
  });

  test("an invitation resent during the delivery is mailed again with its new expiry", async () => {
    server.setBehaviour("twice@example.com", "hold");
    const id = await db.invite("twice@example.com");
    await waitFor("the first mail", () => server.mailsTo("twice@example.com").length === 1);
    await db.asInviter((client) => client.query("select resend_invitation($1)", [id]));
    await waitFor("the second mail", () => server.mailsTo("twice@example.com").length === 2);
    expect(await db.invitation(id)).toMatchObject({ mailed_at: null, mail_number: 2 });
    server.release();
    expect((await db.waitUntilSettled(id)).mailed_at).not.toBeNull();
    expect(server.mailsTo("twice@example.com").map((letter) => letter.messageId)).toEqual([
      `<invitation-${id}-1@wine.example>`,
      `<invitation-${id}-2@wine.example>`,
    ]);
  });

  test("an invitation resent during a failing delivery drops the failed attempt", async () => {
    server.setBehaviour("moved@example.com", "stall");
    const id = await db.invite("moved@example.com");
    await waitFor("the first attempt", () => server.isStalled("moved@example.com"));
    await db.asInviter((client) => client.query("select resend_invitation($1)", [id]));
    server.release();
    expect(await db.waitUntilSettled(id)).toMatchObject({ mail_error: null, mail_number: 2 });
    expect(server.mailsTo("moved@example.com").map((letter) => letter.messageId)).toEqual([
      `<invitation-${id}-2@wine.example>`,
    ]);
  });

  test("an isolated test run sends no mail", async () => {
    const tenant = "backoffice_e2e_mail";
    await db.makeTenant(tenant);
    const id = await db.invite("isolated@example.com", undefined, tenant);
    expect((await db.waitUntilSettled(id, tenant)).mailed_at).not.toBeNull();
    expect(server.mailsTo("isolated@example.com")).toEqual([]);
    const line = () =>
      worker
        .output()
        .split("\n")
        .find((one) => one.includes("isolated test run"));
    await waitFor("the log line", () => line() !== undefined);
    expect(line()).toContain(`"mail":"${id}"`);
    expect(worker.output()).not.toContain("isolated@example.com");
  });
});

test("a silent mail server times out after the configured time and finally fails the job", async () => {
  await startWorkerProcess(db.url, settings(), { constants: { mail: { timeoutMs: 300 } } });
  server.setBehaviour("silent@example.com", "hang");
  const id = await db.invite(
    "silent@example.com",
    "update invitations set mail_attempts = 10 where id = $1",
  );
  await waitFor("an attempt", async () =>
    (await db.invitation(id)).mail_error?.includes("in time"),
  );
  expect((await db.invitation(id)).mail_error).toBe(
    "The mail server did not answer in time (it will be retried)",
  );
  await db.runJobNow(id);
  expect(await db.waitUntilSettled(id)).toMatchObject({
    mailed_at: null,
    mail_error: "The mail server did not answer in time (given up after 12 attempts)",
    mail_attempts: 12,
  });
  await endWorkers();
});

test.each([
  ["that is unreachable", () => "smtp://127.0.0.1:1", "connection to the mail server failed"],
  [
    "that would receive the password unencrypted",
    () => server.url.replace("//", "//office:hunter2@"),
    "No secure connection to the mail server",
  ],
])(
  "a mail server %s gets no mail, and the invitation shows the reason",
  async (_what, url, reason) => {
    const worker = await startWorkerProcess(db.url, { ...settings(), SMTP_URL: url() });
    const id = await db.invite(
      `${randomUUID()}@example.com`,
      "update invitations set mail_attempts = 11 where id = $1",
    );
    const { mail_error } = await db.waitUntilSettled(id);
    expect(mail_error).toContain(reason);
    expect(mail_error).toContain("(given up after 12 attempts)");
    expect(worker.output()).not.toContain("hunter2");
    await endWorkers();
  },
);

test("a worker that dies after the delivery sends a second mail with the same Message-ID", async () => {
  server.setBehaviour("folded@example.com", "hold");
  const doomed = await startWorkerProcess(db.url, settings());
  const id = await db.invite("folded@example.com");
  await waitFor("the mail", () => server.mailsTo("folded@example.com").length === 1);
  doomed.signal("SIGKILL");
  await doomed.exited;
  server.release();
  await startWorkerProcess(db.url, settings());
  const after = await db.waitUntilSettled(id);
  expect(after).toMatchObject({ mail_error: null, mail_attempts: 2 });
  const ids = server.mailsTo("folded@example.com").map((letter) => letter.messageId);
  expect(ids).toEqual([ids[0], ids[0]]);
  await endWorkers();
});

test("without a mail server the mail is written to the data folder, and its path to the log", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "office-mail-"));
  try {
    const worker = await startWorkerProcess(db.url, {
      DATA_DIR: dataDir,
      PUBLIC_URL: "http://127.0.0.1:4000",
    });
    const id = await db.invite("folder@example.com");
    expect((await db.waitUntilSettled(id)).mailed_at).not.toBeNull();
    const files = await readdir(join(dataDir, "mail"));
    expect(files).toEqual([expect.stringMatching(new RegExp(`^\\d{8}T\\d{9}Z-${id}\\.eml$`))]);
    const message = await readFile(join(dataDir, "mail", files[0] ?? ""), "utf8");
    expect(message).toContain("To: folder@example.com");
    expect(message).toContain("http://127.0.0.1:4000/auth/login");
    await waitFor("the log line", () =>
      worker.output().includes("mail written to the data folder"),
    );
    expect(worker.output()).toContain("folder@example.com");
    expect(worker.output()).not.toContain("invites you");
  } finally {
    await endWorkers();
    await rm(dataDir, { recursive: true });
  }
});

test("a production worker without a mail server does not start and names all missing settings", async () => {
  const worker = launch(["src/worker.ts"], {
    NODE_ENV: "production",
    DATABASE_URL: db.url,
  });
  expect(await worker.exited).toBe(1);
  for (const name of ["SMTP_URL", "MAIL_FROM", "INVITATION_URL"])
    expect(worker.output()).toContain(`${name} is required in production`);
});
