import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService({ env: { TRUSTED_PROXIES: "1" } });
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token: string) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const person = async (permissions: string[] = [], name = "anna") =>
  service.login(permissions, `${name}-${randomUUID()}@example.com`);
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}
const schedule = () => sql("select * from schedule_notifications(60)");

interface Shown {
  id: string;
  kind: string;
  title: string;
  body: string | null;
  entity: string | null;
  entityId: string | null;
  occurrences: number;
  readAt: string | null;
}

async function inbox(token: string, query?: string): Promise<Shown[]> {
  const { data, errors } = await ask(
    `query ($query: String) { notifications(query: $query, first: 100) {
      nodes { id kind title body entity entityId occurrences readAt } } }`,
    { query },
    token,
  );
  expect(errors).toBeUndefined();
  return data.notifications.nodes as Shown[];
}
const unread = async (token: string) =>
  (await ask("{ unreadNotificationCount }", {}, token)).data.unreadNotificationCount as number;
const notify = (userId: string, title = "Something", subject: string = randomUUID()) =>
  sql("select notify_users(array[$1::uuid], 'JOB_FAILED', $2, null, 'Job', $3)", [
    userId,
    title,
    subject,
  ]);
const setPreference = async (token: string, kind: string, input: Record<string, unknown>) => {
  const { data } = await ask("{ notificationPreferences { id kind } }", {}, token);
  const rows = data.notificationPreferences as { id: string; kind: string }[];
  return ask(
    `mutation ($id: ID!, $input: UpdateNotificationPreferenceInput!) {
      updateNotificationPreference(id: $id, input: $input) { kind inInbox mail } }`,
    { id: rows.find((row) => row.kind === kind)?.id, input },
    token,
  );
};

describe("the inbox", () => {
  test("lists notifications of the caller, newest first, and counts unread ones", async () => {
    const anna = await person();
    const bo = await person();
    await notify(anna.userId, "First");
    await notify(anna.userId, "Second");
    await notify(bo.userId, "Of Bo");
    expect((await inbox(anna.token)).map(({ title }) => title)).toEqual(["Second", "First"]);
    expect(await unread(anna.token)).toBe(2);
    expect(await unread(bo.token)).toBe(1);
  });

  test("marks some or all notifications as read", async () => {
    const { token, userId } = await person();
    for (const title of ["One", "Two", "Three"]) await notify(userId, title);
    const [three] = await inbox(token);
    const mark = (ids: string[] | null, all: boolean | null) =>
      ask(
        "mutation ($ids: [ID!], $all: Boolean) { markNotificationsRead(ids: $ids, all: $all) }",
        { ids, all },
        token,
      );
    expect((await mark([three!.id], null)).data.markNotificationsRead).toBe(1);
    expect((await inbox(token, "-readAt:*")).map(({ title }) => title)).toEqual(["Two", "One"]);
    expect((await mark([three!.id], false)).data.markNotificationsRead).toBe(0);
    expect((await mark([], null)).data.markNotificationsRead).toBe(0);
    expect((await mark(null, true)).data.markNotificationsRead).toBe(2);
    expect(await unread(token)).toBe(0);
    expect(refusal(await mark(null, null))).toEqual({
      code: "BAD_USER_INPUT",
      message: "Give either ids or all: true",
    });
    expect(refusal(await mark([three!.id], true)).code).toBe("BAD_USER_INPUT");
    const tooMany = Array.from({ length: 1001 }, () => three!.id);
    expect(refusal(await mark(tooMany, null)).message).toBe("ids must be 1000 at most");
  });

  test("rejects notifications of others", async () => {
    const { userId } = await person();
    const { token } = await person();
    await notify(userId);
    const [row] = await sql<{ id: string }>("select id from notifications where user_id = $1", [
      userId,
    ]);
    const mark = (mutation: string) =>
      ask(`mutation ($id: ID!) { ${mutation} }`, { id: row!.id }, token);
    expect(refusal(await mark("markNotificationsRead(ids: [$id])"))).toEqual({
      code: "NOT_FOUND",
      message: `There are no notifications of yours with the ids ${row!.id}`,
    });
    expect(refusal(await mark("markNotificationRead(id: $id) { id }"))).toEqual({
      code: "NOT_FOUND",
      message: "There is no notification of yours with this id",
    });
  });

  test("rejects scoped tokens", async () => {
    const { userId } = await person(["orders.read"]);
    const { token } = await insertApiToken(service.database, userId, ["orders.read"]);
    for (const query of [
      "{ notifications { nodes { id } } }",
      "{ notificationPreferences { id } }",
      "{ unreadNotificationCount }",
      "mutation { markNotificationsRead(all: true) }",
    ])
      expect(refusal(await ask(query, {}, token)).code).toBe("FORBIDDEN");
  });

  test("lists a repeated notification first", async () => {
    const { token, userId } = await person();
    await notify(userId, "Once", "a");
    await notify(userId, "Another", "b");
    await notify(userId, "Twice", "a");
    expect(await inbox(token)).toMatchObject([{ title: "Twice" }, { title: "Another" }]);
  });

  test("merges repetitions within an hour and marks them unread", async () => {
    const { token, userId } = await person();
    await notify(userId, "Once", "a");
    await ask("mutation { markNotificationsRead(all: true) }", {}, token);
    await notify(userId, "Twice", "a");
    await notify(userId, "Another", "b");
    expect(await inbox(token)).toMatchObject([
      { title: "Another", occurrences: 1 },
      { title: "Twice", occurrences: 2, readAt: null },
    ]);
    await sql("update notifications set created_at = now() - interval '61 minutes'");
    await notify(userId, "Later", "a");
    expect(await inbox(token)).toHaveLength(3);
  });
});

describe("the settings", () => {
  test("exist for each kind, and changes are audited", async () => {
    const { token, userId } = await person();
    const { data } = await ask("{ notificationPreferences { kind inInbox mail } }", {}, token);
    expect(data.notificationPreferences).toHaveLength(15);
    expect(data.notificationPreferences).toContainEqual({
      kind: "NEW_LOGIN_ADDRESS",
      inInbox: true,
      mail: "AT_ONCE",
    });
    expect((await setPreference(token, "JOB_FAILED", { mail: "OFF" })).data).toEqual({
      updateNotificationPreference: { kind: "JOB_FAILED", inInbox: true, mail: "OFF" },
    });
    const audited = await sql(
      `select before, after, metadata -> 'kind' as kind from audit_log
       where actor_user_id = $1 and entity_type = 'NotificationPreference'`,
      [userId],
    );
    expect(audited).toEqual([
      {
        before: { inInbox: true, mail: "DAILY" },
        after: { inInbox: true, mail: "OFF" },
        kind: "JOB_FAILED",
      },
    ]);
    expect(refusal(await setPreference(token, "JOB_FAILED", { mail: null })).message).toBe(
      "mail cannot be null",
    );
  });

  test("send no mail about completed exports by default", async () => {
    const { token, userId } = await person();
    const { data } = await ask("{ notificationPreferences { kind inInbox mail } }", {}, token);
    expect(data.notificationPreferences).toContainEqual({
      kind: "EXPORT_COMPLETED",
      inInbox: true,
      mail: "OFF",
    });
    await sql(
      "select notify_users(array[$1::uuid], 'EXPORT_COMPLETED', 'Ready', null, 'ExportJob', 'a')",
      [userId],
    );
    expect(await inbox(token)).toMatchObject([{ title: "Ready", readAt: null }]);
    expect(await sql("select mail_at from notifications where user_id = $1", [userId])).toEqual([
      { mail_at: null },
    ]);
  });

  test("disable the inbox or the whole kind", async () => {
    const { token, userId } = await person();
    await setPreference(token, "JOB_FAILED", { inInbox: false });
    await notify(userId, "By mail only");
    expect(await inbox(token)).toMatchObject([
      { title: "By mail only", readAt: expect.any(String) },
    ]);
    await setPreference(token, "JOB_FAILED", { mail: "OFF" });
    await notify(userId, "Not at all");
    expect(await inbox(token)).toHaveLength(1);
    await setPreference(token, "JOB_FAILED", { inInbox: true });
    await notify(userId, "In the inbox");
    expect(await unread(token)).toBe(1);
  });

  test("are added for a new kind by the schedule", async () => {
    const { token, userId } = await person();
    await sql("delete from notification_preferences where user_id = $1 and kind = 'ERP_DOWN'", [
      userId,
    ]);
    await schedule();
    const { data } = await ask("{ notificationPreferences { kind } }", {}, token);
    expect(data.notificationPreferences).toHaveLength(15);
  });
});

describe("notifications are created for", () => {
  test("absence requests and decisions", async () => {
    const boss = await person(["absences.update"], "boss");
    const anna = await person();
    const { data } = await ask(
      `mutation { createAbsence(input: { type: VACATION, startsOn: "2027-07-05", endsOn: "2027-07-09", note: "Italy" }) { id } }`,
      {},
      anna.token,
    );
    const { id } = data.createAbsence;
    expect(await inbox(boss.token)).toMatchObject([
      {
        kind: "ABSENCE_REQUESTED",
        title: expect.stringMatching(
          /^anna-.* asks for an absence: vacation from 2027-07-05 to 2027-07-09$/,
        ),
        body: "Italy",
        entity: "Absence",
        entityId: id,
      },
    ]);
    await ask(
      `mutation ($id: ID!) { declineAbsence(id: $id, note: "Harvest") { id } }`,
      { id },
      boss.token,
    );
    expect(await inbox(anna.token)).toMatchObject([
      {
        kind: "ABSENCE_DECIDED",
        title: expect.stringMatching(/^boss-.* has declined your absence: vacation from/),
        body: "Harvest",
      },
    ]);
    await ask(
      `mutation ($userId: ID!) { enterAbsence(userId: $userId, input: { type: SICK, startsOn: "2027-01-04", endsOn: "2027-01-04" }) { id } }`,
      { userId: anna.userId },
      boss.token,
    );
    const decided = await inbox(anna.token, "kind:ABSENCE_DECIDED");
    expect(decided.map(({ title }: { title: string }) => title.replace(/^\S+/, ""))).toEqual([
      " entered an absence of yours: sick on 2027-01-04",
      " has declined your absence: vacation from 2027-07-05 to 2027-07-09",
    ]);
    expect(await inbox(boss.token)).toHaveLength(1);
  });

  test("the half days of an absence", async () => {
    const boss = await person(["absences.update"], "boss");
    const anna = await person();
    for (const input of [
      `startsOn: "2027-03-01", endsOn: "2027-03-01", startsHalfDay: true`,
      `startsOn: "2027-03-02", endsOn: "2027-03-02", endsHalfDay: true`,
      `startsOn: "2027-03-03", endsOn: "2027-03-05", startsHalfDay: true, endsHalfDay: true`,
    ])
      await ask(
        `mutation { createAbsence(input: { type: OTHER, ${input} }) { id } }`,
        {},
        anna.token,
      );
    const titles = (await inbox(boss.token)).map(({ title }: { title: string }) => title);
    for (const [index, period] of [
      "other from 2027-03-03 at noon to 2027-03-05 at noon",
      "other on 2027-03-02 until noon",
      "other on 2027-03-01 from noon",
    ].entries())
      expect(titles[index]).toContain(period);
  });

  test("the cancellation of an absence, without the note of its approval", async () => {
    const boss = await person(["absences.update"], "boss");
    const anna = await person();
    const { data } = await ask(
      `mutation { createAbsence(input: { type: VACATION, startsOn: "2027-07-05", endsOn: "2027-07-09" }) { id } }`,
      {},
      anna.token,
    );
    for (const mutation of ['approveAbsence(id: $id, note: "Enjoy")', "cancelAbsence(id: $id)"]) {
      const { errors } = await ask(
        `mutation ($id: ID!) { ${mutation} { id } }`,
        { id: data.createAbsence.id },
        boss.token,
      );
      expect(errors).toBeUndefined();
    }
    expect((await inbox(anna.token, "kind:ABSENCE_DECIDED"))[0]).toMatchObject({
      title: expect.stringMatching(/ has cancelled your absence: /),
      body: null,
    });
  });

  test.each([
    ["within an hour", 0, 2],
    ["after an hour", 61, 1],
  ])(
    "a changed absence request in place of the first one, %s",
    async (_when, minutes, occurrences) => {
      const boss = await person(["absences.update"], "boss");
      const anna = await person();
      const { data } = await ask(
        `mutation { createAbsence(input: { type: VACATION, startsOn: "2027-07-05", endsOn: "2027-07-09" }) { id } }`,
        {},
        anna.token,
      );
      const { id } = data.createAbsence;
      await ask("mutation { markNotificationsRead(all: true) }", {}, boss.token);
      await sql(
        "update notifications set created_at = created_at - make_interval(mins => $1) where entity_id = $2",
        [minutes, id],
      );
      const changed = await ask(
        `mutation ($id: ID!) { updateAbsence(id: $id, input: { type: TRAINING, startsOn: "2027-07-06", note: "Course" }) { id } }`,
        { id },
        anna.token,
      );
      expect(changed.errors).toBeUndefined();
      expect(await inbox(boss.token)).toMatchObject([
        {
          title: expect.stringMatching(/: training from 2027-07-06 to 2027-07-09$/),
          body: "Course",
          readAt: null,
          occurrences,
        },
      ]);
    },
  );

  test("bookings that others move or cancel, with local times", async () => {
    const anna = await person();
    const boss = await person(["resources.update", "resourcebookings.update"], "boss");
    await ask(
      `mutation ($id: ID!) { updateUser(id: $id, input: { timeZone: "America/New_York" }) { id } }`,
      { id: anna.userId },
      anna.token,
    );
    const resource = await ask(
      `mutation ($name: String!) { createResource(input: { name: $name, kind: ROOM }) { id } }`,
      { name: `Room ${randomUUID()}` },
      boss.token,
    );
    const { data } = await ask(
      `mutation ($id: ID!) { createResourceBooking(input: { resourceId: $id, title: "Tasting",
        startsAt: "2040-07-02T16:00:00Z", endsAt: "2040-07-02T18:00:00Z" }) { id } }`,
      { id: resource.data.createResource.id },
      anna.token,
    );
    const { id } = data.createResourceBooking;
    const move = (endsAt: string, token: string) =>
      ask(
        `mutation ($id: ID!, $endsAt: DateTime!) { updateResourceBooking(id: $id, input: { endsAt: $endsAt }) { id } }`,
        { id, endsAt },
        token,
      );
    await move("2040-07-02T18:30:00Z", anna.token);
    expect(await inbox(anna.token)).toEqual([]);
    await move("2040-07-02T19:00:00Z", boss.token);
    expect(await inbox(anna.token)).toMatchObject([
      {
        kind: "BOOKING_CHANGED",
        title: expect.stringMatching(/^boss-.* changed your booking “Tasting” in Room /),
        body: "It was from 2040-07-02 12:00 to 2040-07-02 14:30, and is from 2040-07-02 12:00 to 2040-07-02 15:00.",
      },
    ]);
    await ask(`mutation ($id: ID!) { cancelResourceBooking(id: $id) { id } }`, { id }, boss.token);
    expect(await inbox(anna.token)).toMatchObject([
      { title: expect.stringMatching(/ cancelled your booking /), occurrences: 1 },
      { title: expect.stringMatching(/ changed your booking /), occurrences: 1 },
    ]);
  });

  test("failed exports of the user but not of tokens", async () => {
    const { token, userId } = await person();
    const { tokenId } = await insertApiToken(service.database, userId, null);
    for (const by of [null, tokenId]) {
      const [job] = await sql<{ id: string }>(
        `insert into export_jobs (user_id, token_id, source, total_rows, state)
         values ($1, $2, 'Price list', 3, 'running') returning id`,
        [userId, by],
      );
      await sql("select end_export($1, 'failed', 'The template was deleted')", [job!.id]);
    }
    expect(await inbox(token)).toMatchObject([
      {
        kind: "EXPORT_FAILED",
        title: "Your export “Price list” failed",
        body: "The template was deleted",
        entity: "ExportJob",
      },
    ]);
  });

  test("completed exports of the user but not of tokens", async () => {
    const { token, userId } = await person(["exports.create", "products.read"]);
    const { tokenId } = await insertApiToken(service.database, userId, null);
    for (const by of [null, tokenId]) {
      const [job] = await sql<{ id: string }>(
        `insert into export_jobs (user_id, token_id, source, total_rows, state, attempt)
         values ($1, $2, 'Price list', 3, 'running', 1) returning id`,
        [userId, by],
      );
      await sql("select complete_export($1, 1, 3, 2048, '{}', 7)", [job!.id]);
    }
    expect(await inbox(token)).toMatchObject([
      {
        kind: "EXPORT_COMPLETED",
        title: "Your export “Price list” is ready",
        body: "3 rows as xlsx",
        entity: "ExportJob",
        occurrences: 1,
        readAt: null,
      },
    ]);
  });

  test("failed jobs and undeliverable invitations", async () => {
    const { token, userId } = await person();
    for (const [kind, subject, number] of [
      ["product_sync", "3 products", 901],
      ["send_invitation", "Invitation of new@example.com", 902],
    ])
      await sql(
        `insert into jobs (kind, subject, max_attempts, user_id, queue_job_id, input) values ($1, $2, 3, $3, $4, '{}')`,
        [kind, subject, userId, number],
      );
    for (const number of [901, 902])
      await sql("select record_job($1, 'FAILED', error => 'No answer')", [number]);
    expect(await inbox(token)).toMatchObject([
      { title: "Invitation of new@example.com could not be delivered", body: "No answer" },
      { title: "Synchronisation of products failed", body: "3 products: No answer" },
    ]);
  });

  test("accepted invitations that another user activated", async () => {
    const boss = await person(["invitations.create", "users.update", "ai.use"]);
    const other = await person(["invitations.create", "users.update", "ai.use"]);
    for (const [name, by] of [
      ["own", boss],
      ["new", other],
    ] as const) {
      const { data } = await ask(
        `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { user { id } } }`,
        { input: { email: `${name}-${boss.userId}@example.com`, roleId: boss.roleId } },
        boss.token,
      );
      const { errors } = await ask(
        `mutation ($id: ID!) { activateUser(userId: $id) { id } }`,
        { id: data.createInvitation.user.id },
        by.token,
      );
      expect(errors).toBeUndefined();
    }
    expect(await inbox(boss.token)).toMatchObject([
      {
        kind: "INVITATION_ACCEPTED",
        title: `new-${boss.userId}@example.com accepted your invitation`,
      },
    ]);
  });

  test("logins from a new address", async () => {
    const { token, userId } = await person();
    const [user] = await sql<{ email: string }>("select email from users where id = $1", [userId]);
    const login = (address: string) =>
      service.ask(`mutation ($email: String!) { devLogin(email: $email) { token } }`, {
        variables: { email: user!.email },
        headers: { "x-forwarded-for": address, "user-agent": "Firefox" },
      });
    await login("203.0.113.5");
    await login("203.0.113.5");
    expect(await inbox(token)).toEqual([]);
    await login("2001:db8::1");
    await login("2001:db8::2");
    expect(await inbox(token)).toMatchObject([
      {
        kind: "NEW_LOGIN_ADDRESS",
        title: "New login from 2001:db8::1",
        body: expect.stringMatching(/^Firefox\n/),
        entity: "Session",
      },
    ]);
  });

  test("API tokens that another user creates for the owner", async () => {
    const admin = await person(["users.update", "products.read", "orders.read"]);
    await sql("update users set name = 'Ida Lund' where id = $1", [admin.userId]);
    const { token, userId } = await person(["products.read", "orders.read"]);
    const create = async (owner: string, input: Record<string, unknown>) => {
      const { errors } = await ask(
        "mutation ($owner: ID!, $input: CreateApiTokenInput!) { createUserApiToken(userId: $owner, input: $input) { id } }",
        { owner, input },
        admin.token,
      );
      expect(errors).toBeUndefined();
    };
    await create(userId, { name: "Robot" });
    await create(userId, { name: "Orders", scopes: ["products.read", "orders.read"] });
    await create(admin.userId, { name: "Own" });
    expect(await inbox(token)).toMatchObject([
      {
        kind: "TOKEN_CREATED",
        title: "Ida Lund created the API token “Orders” for you",
        body: expect.stringMatching(
          /^It acts for you, with the permissions products\.read, orders\.read\. If you/,
        ),
        entity: "ApiToken",
      },
      {
        title: "Ida Lund created the API token “Robot” for you",
        body: expect.stringMatching(/^It acts for you, with all your permissions\. If you/),
      },
    ]);
    expect(await inbox(admin.token)).toEqual([]);
    const mails = await sql("select from notifications where user_id = $1 and mail_at <= now()", [
      userId,
    ]);
    expect(mails).toHaveLength(2);
  });

  test("API tokens that expire within seven days, once", async () => {
    const { token, userId } = await person();
    for (const [name, created, ends] of [
      ["Soon", "300 days", "6 days"],
      ["Late", "300 days", "8 days"],
      ["Short", "1 day", "2 days"],
    ]) {
      const { tokenId } = await insertApiToken(service.database, userId, null);
      await sql(
        "update api_tokens set name = $2, created_at = now() - $3::interval, expires_at = now() + $4::interval where id = $1",
        [tokenId, name, created, ends],
      );
    }
    await schedule();
    await schedule();
    expect(await inbox(token)).toMatchObject([
      { title: "Your API token “Soon” expires soon", entity: "ApiToken", occurrences: 1 },
    ]);
  });

  /** Ends an import with groups of open issues, given by the numbers of their orders. */
  const finishImport = async (...groups: number[]) => {
    await sql("delete from order_import_causes");
    await sql(
      `insert into order_import_causes (kind, code, key, order_count, occurrences, first_seen_at, last_seen_at)
       select 'MAPPING', 'vat_code.unmapped', n::text, orders, 1, now(), now()
       from unnest($1::integer[]) with ordinality as g(orders, n)`,
      [groups],
    );
    const [run] = await sql<{ id: string }>(
      "insert into erp_sync_runs (kind, status) values ('IMPORT', 'RUNNING') returning id",
    );
    await sql("select finish_erp_run($1)", [run!.id]);
    return run!.id;
  };

  test("additional groups of import issues", async () => {
    const reader = await person(["erpsync.read"]);
    const other = await person();
    await finishImport(1, 1);
    await finishImport(1);
    const last = await finishImport(1, 1, 1, 1);
    expect(await inbox(reader.token)).toMatchObject([
      {
        kind: "IMPORT_ISSUES",
        title: "New groups of import issues: 3",
        body: "Open groups after the last import: 4. Affected orders: 4.",
        entityId: last,
        occurrences: 2,
      },
    ]);
    expect(await inbox(other.token)).toEqual([]);
  });

  test("a group of import issues that affects more orders", async () => {
    await finishImport(3);
    const reader = await person(["erpsync.read"]);
    await finishImport(3);
    expect(await inbox(reader.token)).toEqual([]);
    await finishImport(3_000);
    expect(await inbox(reader.token)).toMatchObject([
      {
        kind: "IMPORT_ISSUES",
        title: "More orders with import issues: 2997",
        body: "Open groups after the last import: 1. Affected orders: 3000.",
        occurrences: 1,
      },
    ]);
    await finishImport(2_999);
    expect(await inbox(reader.token)).toMatchObject([{ occurrences: 1 }]);
  });

  test("outages of ten minutes, once per outage", async () => {
    const reader = await person(["erpsync.read"]);
    const office = await person(["settings.update"]);
    await sql(
      "update erp_cursors set erp_down_at = now() - interval '9 minutes', erp_error = 'No answer' where entity = 'orders'",
    );
    await schedule();
    expect(await inbox(reader.token, "kind:ERP_DOWN")).toEqual([]);
    await sql(
      "update erp_cursors set erp_down_at = now() - interval '11 minutes' where entity = 'orders'",
    );
    await sql(
      `insert into search_indexes (collection, version, error) values ('products', 'v1', 'Connection refused')
       on conflict (collection) do update set version = 'v1', error = excluded.error`,
    );
    await sql(
      "insert into row_changes (reader, table_name, row_id, created_at) values ('search', 'products', uuidv7(), now() - interval '11 minutes')",
    );
    const traveller = await person(["erpsync.read"]);
    await sql("update users set time_zone = 'America/New_York' where id = $1", [traveller.userId]);
    await schedule();
    await schedule();
    const since = async (zone: string) => {
      const [row] = await sql<{ text: string }>(
        "select local_text(erp_down_at, $1) as text from erp_cursors where entity = 'orders'",
        [zone],
      );
      return `Since ${row?.text}`;
    };
    expect(await inbox(reader.token, "kind:ERP_DOWN")).toMatchObject([
      {
        title: "The ERP does not answer",
        body: `No answer\n${await since("Europe/Copenhagen")}`,
        occurrences: 1,
      },
    ]);
    expect(await inbox(traveller.token, "kind:ERP_DOWN")).toMatchObject([
      { body: `No answer\n${await since("America/New_York")}`, occurrences: 1 },
    ]);
    expect(await inbox(office.token)).toMatchObject([
      {
        kind: "SEARCH_DOWN",
        body: expect.stringMatching(/^Connection refused\nSince \d{4}-\d\d-\d\d \d\d:\d\d$/),
        occurrences: 1,
      },
    ]);
    // The backlog drains: the oldest row is another one.
    await sql(
      "update row_changes set created_at = now() - interval '10 minutes 30 seconds' where reader = 'search'",
    );
    await schedule();
    expect(await inbox(office.token)).toHaveLength(1);
    await sql("delete from row_changes where reader = 'search'");
    // A second outage within an hour causes another notification.
    await sql(
      "update erp_cursors set erp_down_at = now() - interval '10 minutes 1 second' where entity = 'orders'",
    );
    await schedule();
    expect(await inbox(reader.token, "kind:ERP_DOWN")).toHaveLength(2);
  });
});

describe("an outage of the search engine", () => {
  const failedSince = (ago: string) =>
    sql(
      "update search_engine_state set down_at = now() - $1::interval, error = 'The search engine is unreachable'",
      [ago],
    );
  beforeEach(async () => {
    await sql("delete from row_changes where reader = 'search'");
    await sql("update search_engine_state set down_at = null, error = null, up_at = null");
    await sql("delete from search_indexes");
    await sql("delete from notifications where kind = 'SEARCH_DOWN'");
  });

  test("is notified after ten minutes without a changed row, once", async () => {
    const office = await person(["settings.update"]);
    const other = await person();
    await failedSince("9 minutes");
    await schedule();
    expect(await inbox(office.token)).toEqual([]);
    await failedSince("11 minutes");
    await schedule();
    await schedule();
    expect(await inbox(office.token)).toMatchObject([
      {
        kind: "SEARCH_DOWN",
        title: "The search engine accepts no changes",
        body: expect.stringMatching(/^The search engine is unreachable\nSince /),
        occurrences: 1,
      },
    ]);
    expect(await inbox(other.token)).toEqual([]);
  });

  test("is recorded with the time and the error of its first failed attempt, until one succeeds", async () => {
    const state = () => sql("select down_at, error, up_at from search_engine_state");
    await sql("select record_search_is_down('First')");
    const first = await state();
    expect(first).toEqual([{ down_at: expect.any(Date), error: "First", up_at: null }]);
    await sql("select record_search_is_down('Second')");
    expect(await state()).toEqual(first);
    await sql("select record_search_is_up()");
    expect(await state()).toEqual([{ down_at: null, error: null, up_at: expect.any(Date) }]);
  });

  test("is not notified again while the changes of its time are delivered", async () => {
    const office = await person(["settings.update"]);
    await sql("insert into search_indexes (collection, version) values ('products', 'v1')");
    await failedSince("60 minutes");
    await schedule();
    await sql(
      "update notifications set created_at = now() - interval '50 minutes' where kind = 'SEARCH_DOWN'",
    );
    await sql("select record_search_is_up()");
    await sql(
      "insert into row_changes (reader, table_name, row_id, created_at) values ('search', 'products', uuidv7(), now() - interval '30 minutes')",
    );
    await schedule();
    expect(await inbox(office.token)).toHaveLength(1);
    await sql("update search_engine_state set up_at = now() - interval '11 minutes'");
    await schedule();
    expect(await inbox(office.token)).toHaveLength(2);
  });
});

describe("mails", () => {
  const due = (userId: string) =>
    sql<{ title: string; due: string | null; mail: boolean }>(
      `select title, to_char(mail_at at time zone 'Europe/Copenhagen', 'HH24:MI') as due, mail_id is not null as mail
       from notifications where user_id = $1 order by id`,
      [userId],
    );

  test("are due at once or at 08:00 in the user's time zone", async () => {
    const { token, userId } = await person();
    await notify(userId, "Daily");
    expect(await due(userId)).toEqual([{ title: "Daily", due: "08:00", mail: false }]);
    await sql("update users set time_zone = 'Asia/Tokyo' where id = $1", [userId]);
    await notify(userId, "In Tokyo");
    await setPreference(token, "JOB_FAILED", { mail: "OFF" });
    await notify(userId, "Never");
    const [, tokyo, never] = await due(userId);
    expect(["00:00", "01:00"]).toContain(tokyo?.due);
    expect(never?.due).toBeNull();
    const [next] = await sql<{ ahead: boolean }>(
      "select bool_and(mail_at > now() and mail_at <= now() + interval '25 hours') as ahead from notifications where user_id = $1",
      [userId],
    );
    expect(next?.ahead).toBe(true);
  });

  test.each([
    ["2027-03-27T08:30:00Z", "2027-03-28T06:00:00.000Z"],
    ["2027-10-30T07:00:00Z", "2027-10-31T07:00:00.000Z"],
    ["2027-10-31T06:59:59Z", "2027-10-31T07:00:00.000Z"],
    ["2027-06-01T05:59:00Z", "2027-06-01T06:00:00.000Z"],
    ["2027-06-01T06:00:00Z", "2027-06-02T06:00:00.000Z"],
  ])("at %s the next digest of Copenhagen is at %s", async (now, next) => {
    const { userId } = await person();
    const [row] = await sql<{ at: Date }>("select next_digest_at($1, $2) as at", [userId, now]);
    expect(row?.at.toISOString()).toBe(next);
  });

  test("contain all due unread notifications of an active user", async () => {
    const { token, userId } = await person();
    const gone = await person();
    for (const title of ["One", "Two", "Read"]) await notify(userId, title);
    await notify(gone.userId);
    const [read] = await inbox(token);
    await ask(
      "mutation ($ids: [ID!]) { markNotificationsRead(ids: $ids) }",
      { ids: [read!.id] },
      token,
    );
    await sql("update users set is_active = false where id = $1", [gone.userId]);
    await sql("update notifications set mail_at = now() where user_id = any ($1)", [
      [userId, gone.userId],
    ]);
    await schedule();
    expect(await due(gone.userId)).toMatchObject([{ due: null, mail: false }]);
    expect(await due(userId)).toMatchObject([
      { mail: true },
      { mail: true },
      { due: null, mail: false },
    ]);
    const jobs = await sql<{ count: number }>(
      `select count(*)::int as count from graphile_worker._private_jobs
       where payload -> 'input' ->> 'mailId' = any (select mail_id::text from notifications where user_id = $1)`,
      [userId],
    );
    expect(jobs).toEqual([{ count: 1 }]);
  });

  test("at once are sent even if somebody has read the notification", async () => {
    const { token, userId } = await person();
    await setPreference(token, "JOB_FAILED", { mail: "AT_ONCE" });
    await notify(userId, "Urgent");
    await ask("mutation { markNotificationsRead(all: true) }", {}, token);
    await schedule();
    expect(await due(userId)).toMatchObject([{ title: "Urgent", mail: true }]);
  });
});

test("a repetition after the daily mail is in the next one", async () => {
  const { userId } = await person();
  const row = () =>
    sql(
      `select occurrences, mail_at > now() as ahead, mail_id, mailed_at from notifications where user_id = $1`,
      [userId],
    );
  await notify(userId, "Twice", "same");
  await sql(
    "update notifications set mail_at = now(), mail_id = uuidv7(), mailed_at = now() where user_id = $1",
    [userId],
  );
  await notify(userId, "Twice", "same");
  expect(await row()).toEqual([{ occurrences: 2, ahead: true, mail_id: null, mailed_at: null }]);
});

describe("time zones", () => {
  test("are validated for users and the office", async () => {
    const office = await person(["settings.update"]);
    const { token, userId } = await person();
    const change = (timeZone: string | null) =>
      ask(
        `mutation ($id: ID!, $timeZone: String) { updateUser(id: $id, input: { timeZone: $timeZone }) { timeZone } }`,
        { id: userId, timeZone },
        token,
      );
    expect((await change("Asia/Tokyo")).data.updateUser).toEqual({ timeZone: "Asia/Tokyo" });
    expect((await change(null)).data.updateUser).toEqual({ timeZone: null });
    for (const wrong of ["Mars/Olympus", "CET-1", "Abc/Def+3", "europe/copenhagen"])
      expect(refusal(await change(wrong))).toEqual({
        code: "BAD_USER_INPUT",
        message: "timeZone must be the name of a time zone, such as Europe/Copenhagen",
      });
    const { data } = await ask("{ officeSettings { id timeZone } }", {}, token);
    expect(data.officeSettings).toHaveLength(1);
    const [{ id }] = data.officeSettings;
    const changeOffice = (timeZone: string, by: string) =>
      ask(
        `mutation ($id: ID!, $timeZone: String) { updateOfficeSetting(id: $id, input: { timeZone: $timeZone }) { timeZone } }`,
        { id, timeZone },
        by,
      );
    expect(refusal(await changeOffice("UTC", token)).code).toBe("FORBIDDEN");
    expect((await changeOffice("UTC", office.token)).data.updateOfficeSetting).toEqual({
      timeZone: "UTC",
    });
    await changeOffice("Europe/Copenhagen", office.token);
  });
});

describe("locales", () => {
  test("are validated for users and the office, whose locale is the default", async () => {
    const office = await person(["settings.update"]);
    const { token, userId } = await person();
    const change = (locale: string | null) =>
      ask(
        `mutation ($id: ID!, $locale: String) { updateUser(id: $id, input: { locale: $locale }) { locale displayLocale } }`,
        { id: userId, locale },
        token,
      );
    const changed = async (locale: string | null) => (await change(locale)).data.updateUser;
    expect(await changed("da-DK")).toEqual({ locale: "da-DK", displayLocale: "da-DK" });
    expect(await changed("zh-Hans-CN")).toMatchObject({ displayLocale: "zh-Hans-CN" });
    expect(await changed(null)).toEqual({ locale: null, displayLocale: "en-GB" });
    for (const wrong of ["dk-DK", "da_DK", "Danish", "da-dk", "da-DK-x-icu", "x".repeat(10_000)])
      expect(refusal(await change(wrong))).toEqual({
        code: "BAD_USER_INPUT",
        message: "locale must be the name of a locale, such as da-DK",
      });
    const { data } = await ask("{ officeSettings { id locale } }", {}, token);
    const [{ id, locale }] = data.officeSettings;
    const changeOffice = (to: string) =>
      ask(
        `mutation ($id: ID!, $locale: String) { updateOfficeSetting(id: $id, input: { locale: $locale }) { locale } }`,
        { id, locale: to },
        office.token,
      );
    expect((await changeOffice("da-DK")).data.updateOfficeSetting).toEqual({ locale: "da-DK" });
    const mine = await ask("{ me { displayLocale } }", {}, token);
    expect(mine.data.me.displayLocale).toBe("da-DK");
    await changeOffice(locale);
  });
});
