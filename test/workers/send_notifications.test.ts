import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDatabase, type TestDatabase } from "../helpers/database.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { MailServer } from "../helpers/workers/mailServer.ts";
import { startMailServer } from "../helpers/workers/mailServer.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let db: TestDatabase;
let server: MailServer;

beforeAll(async () => {
  [db, server] = await Promise.all([createDatabase(), startMailServer()]);
  await startWorkerProcess(db.url, {
    SMTP_URL: server.url,
    MAIL_FROM: "Back office <office@wine.example>",
    PUBLIC_URL: "https://office.example",
  });
});
afterAll(async () => {
  await endWorkers();
  await server?.close();
  await db?.drop();
});

const person = async (email: string) => {
  const { rows } = await db.pool.query<{ id: string }>(
    "insert into users (email, is_active) values ($1, true) returning id",
    [email],
  );
  return rows[0]!.id;
};
const notify = (userId: string, title: string, body: string | null = null) =>
  db.pool.query(
    "select notify_users(array[$1::uuid], 'NEW_LOGIN_ADDRESS', $2, $3, 'Session', $4)",
    [userId, title, body, randomUUID()],
  );
const schedule = () => db.pool.query("select schedule_notifications(60)");
const mailed = async (userId: string) => {
  const { rows } = await db.pool.query<{ mailed_at: Date | null }>(
    "select mailed_at from notifications where user_id = $1",
    [userId],
  );
  return rows.every(({ mailed_at }) => mailed_at !== null) || undefined;
};

test("sends due notifications in one mail, newest first", async () => {
  const id = await person("anna@example.com");
  await notify(id, "First <b>", "Two\nlines");
  await notify(id, "Second");
  await schedule();
  await waitFor("the mail", () => mailed(id));
  await schedule();
  const letters = server.mailsTo("anna@example.com");
  expect(letters).toHaveLength(1);
  const [{ text, messageId }] = letters as [(typeof letters)[0]];
  const { rows } = await db.pool.query<{ id: string; mail_id: string }>(
    "select id, mail_id from notifications where title = 'Second'",
  );
  expect(messageId).toBe(`<notifications-${rows[0]!.mail_id}@wine.example>`);
  expect(text).toContain("Subject: 2 notifications from the back office");
  expect(text).toMatch(/\nSecond\n\d+ \w+ \d{4}, \d\d:\d\d\nhttps:[^]*\nFirst <b>\nTwo\nlines\n/);
  expect(text).toContain(`https://office.example/admin/notifications/${rows[0]!.id}`);
  expect(text).toContain("<strong>First &lt;b&gt;</strong>");
});

test("uses the title of a single notification as the subject", async () => {
  const id = await person("bo@example.com");
  await notify(id, "New login from 203.0.113.5");
  await schedule();
  await waitFor("the mail", () => mailed(id));
  expect(server.mailsTo("bo@example.com")[0]?.text).toContain(
    "Subject: New login from 203.0.113.5",
  );
});

test("leaves a daily notification that happens again while the mail is sent to the next mail", async () => {
  const id = await person("ella@example.com");
  await db.pool.query("select add_notification_preferences()");
  await db.pool.query("update notification_preferences set mail = 'DAILY' where user_id = $1", [
    id,
  ]);
  const again = (title: string) =>
    db.pool.query(
      "select notify_users(array[$1::uuid], 'NEW_LOGIN_ADDRESS', $2, null, 'Session', 'one')",
      [id, title],
    );
  const record = async () => {
    const mailId = randomUUID();
    await db.pool.query("update notifications set mail_id = $2 where user_id = $1", [id, mailId]);
    const { rows } = await db.pool.query<{ id: string; happened_at: Date }>(
      "select id, happened_at from begin_notification_mail($1)",
      [mailId],
    );
    return () =>
      db.pool.query("select record_notification_mail($1, $2, $3)", [
        mailId,
        rows.map((row) => row.id),
        rows.map((row) => row.happened_at),
      ]);
  };
  const state = async () => {
    const { rows } = await db.pool.query(
      `select title, mailed_at is not null as "isMailed", mail_id is null and mail_at > now() as "isPlanned"
       from notifications where user_id = $1`,
      [id],
    );
    return rows;
  };
  await again("The first");
  const recordFirst = await record();
  await again("Worse");
  await recordFirst();
  expect(await state()).toEqual([{ title: "Worse", isMailed: false, isPlanned: true }]);
  await (
    await record()
  )();
  expect(await state()).toEqual([{ title: "Worse", isMailed: true, isPlanned: false }]);
});

test("writes times in the time zone and the locale of the recipient", async () => {
  const id = await person("dorte@example.com");
  await db.pool.query("update users set time_zone = 'Asia/Tokyo', locale = 'da-DK' where id = $1", [
    id,
  ]);
  await notify(id, "In Tokyo");
  await db.pool.query(
    "update notifications set happened_at = '2027-03-05T18:30:00Z' where user_id = $1",
    [id],
  );
  await db.pool.query("select queue_notification_mails()");
  await waitFor("the mail", () => mailed(id));
  expect(server.mailsTo("dorte@example.com")[0]?.text).toContain("\n6. mar. 2027, 03.30\n");
});

test("retries after a temporary rejection and gives up after a permanent one", async () => {
  server.setBehaviour("nobody@example.com", "refuse");
  server.setBehaviour("later@example.com", "later");
  const [nobody, later] = [await person("nobody@example.com"), await person("later@example.com")];
  await notify(nobody, "Lost");
  await notify(later, "Late");
  await schedule();
  const jobs = async (userId: string) => {
    const { rows } = await db.pool.query<{ id: string; attempts: number }>(
      `select j.id, j.attempts from graphile_worker._private_jobs j
       where j.payload -> 'input' ->> 'mailId' = (select mail_id::text from notifications where user_id = $1)`,
      [userId],
    );
    return rows;
  };
  await waitFor(
    "the end of the refused mail",
    async () => (await jobs(nobody)).length === 0 || undefined,
  );
  const [waiting] = await waitFor("the first attempt", async () => {
    const rows = await jobs(later);
    return rows[0]?.attempts === 1 ? rows : undefined;
  });
  await db.pool.query(
    "select graphile_worker.reschedule_jobs(array[$1::bigint], run_at := now())",
    [waiting!.id],
  );
  await waitFor("the second attempt", () => mailed(later));
  expect(server.mailsTo("later@example.com")).toHaveLength(1);
  expect(await mailed(nobody)).toBeUndefined();
});
