import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { sealAll } from "../helpers/db/seals.ts";
import { erpCustomer, erpOrder, importErpResponse, resetRules } from "../helpers/erpRecords.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let service: Service;
let eraser: string;
let boss: string;

beforeAll(async () => {
  service = await startService();
  const { data } = await service.ask(
    'mutation { bootstrapFirstUser(email: "boss@example.com") { token } }',
  );
  boss = data.bootstrapFirstUser.token as string;
  eraser = (await service.login(["customers.erase", "customers.read", "orders.read"])).token;
  await resetRules(service.database.pool);
});
afterAll(() => service.stop());

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await service.database.pool.query<T>(text, values)).rows;
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const anonymiseCustomer = (id: string, token = eraser) =>
  service.ask(`mutation ($id: ID!) { anonymiseCustomer(id: $id) { id name email erasedAt } }`, {
    token,
    variables: { id },
  });
const anonymiseUser = (userId: string, token = boss) =>
  service.ask(
    `mutation ($userId: ID!) { anonymiseUser(userId: $userId) { id name email erasedAt } }`,
    { token, variables: { userId } },
  );

/** The tables in which any column of any row contains a text. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relnamespace = 'backoffice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql(
      `select from ${name} t where strpos(to_jsonb(t)::text, $1) > 0 limit 1`,
      [text],
    );
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}
const waitForLock = (what: string, type: "advisory" | "transactionid") =>
  waitFor(what, async () => {
    const waiting = await sql(
      `select from pg_locks l join pg_stat_activity a using (pid)
       where l.locktype = $1 and not l.granted and a.datname = current_database()`,
      [type],
    );
    return waiting.length > 0;
  });
/** Problems of the audit log's seals, as `npm run audit:verify` finds them. */
const brokenRows = async () =>
  sql<{ row_id: string; problem: string }>(
    `select v.* from audit_seals s, verify_audit_seal(s.tree, s.position) as v`,
  );

async function makeExport(userId: string, entity: string | null, state: string): Promise<string> {
  const [job] = await sql<{ id: string }>(
    `insert into export_jobs (user_id, source, entity, state, total_rows, file_key)
     values ($1, 'File', $2, $3, 1, case $3 when 'completed' then gen_random_uuid()::text end) returning id`,
    [userId, entity, state],
  );
  return job!.id;
}
/** The states of exports, the oldest first. */
async function statesOf(jobs: string[]): Promise<string[]> {
  const rows = await sql<{ state: string }>(
    "select state from export_jobs where id = any ($1) order by id",
    [jobs],
  );
  return rows.map(({ state }) => state);
}

/** A customer with an order that was changed once, and a note that was deleted. */
async function makeCustomer(name: string): Promise<string> {
  const number = randomUUID();
  const address = { ...erpOrder("").deliveryAddress, name, line1: `${name}'s street` };
  const customers = [erpCustomer(number, { name, email: `${name}@example.com` })];
  const order = { customerNumber: number, customerName: name, deliveryAddress: address };
  await importErpResponse(service.database.pool, {
    customers,
    orders: [erpOrder(`O-${number}`, order)],
  });
  const again = { ...order, revision: "2", lastModified: "2026-03-02T10:00:00.000Z", phone: name };
  await importErpResponse(service.database.pool, {
    customers,
    orders: [erpOrder(`O-${number}`, again)],
  });
  const [customer] = await sql<{ id: string }>(
    "select id from customers where erp_customer_number = $1",
    [number],
  );
  const id = customer?.id ?? "";
  await sql("insert into customer_notes (customer_id, body) values ($1, $2)", [id, `${name} 1`]);
  await sql("delete from customer_notes where customer_id = $1", [id]);
  await sql("insert into customer_notes (customer_id, body) values ($1, $2)", [id, `${name} 2`]);
  return id;
}

describe("anonymiseCustomer", () => {
  test("removes the name, addresses and notes of the customer from the whole database", async () => {
    const id = await makeCustomer("Kirstensen");
    expect(await tablesWith("Kirstensen")).toEqual([
      "audit_log",
      "customer_notes",
      "customers",
      "orders",
    ]);
    await sealAll(service.database.pool);
    const { data, errors } = await anonymiseCustomer(id);
    expect(errors).toBeUndefined();
    expect(data.anonymiseCustomer).toMatchObject({
      id,
      name: "Erased",
      email: null,
      erasedAt: expect.any(String),
    });
    expect(await tablesWith("Kirstensen")).toEqual([]);
  });

  test("keeps the amounts of orders, and the data of other customers", async () => {
    const [id, other] = [await makeCustomer("Mortensen"), await makeCustomer("Sorensen")];
    await anonymiseCustomer(id);
    const { data } = await service.ask(
      `query ($id: ID!, $other: ID!) {
        customer(id: $id) { country orders { nodes { totalAmount email deliveryName deliveryCountry } } }
        other: customer(id: $other) { name orders { nodes { deliveryName } } } }`,
      { token: eraser, variables: { id, other } },
    );
    expect(data).toEqual({
      customer: {
        country: "DK",
        orders: {
          nodes: [
            { totalAmount: "750.00", email: null, deliveryName: null, deliveryCountry: "DK" },
          ],
        },
      },
      other: { name: "Sorensen", orders: { nodes: [{ deliveryName: "Sorensen" }] } },
    });
    expect(await tablesWith("Sorensen")).toContain("audit_log");
  });

  test("is not undone by the next import, which counts the rows as unchanged", async () => {
    const id = await makeCustomer("Jakobsen");
    await anonymiseCustomer(id);
    const rows = await sql<{ number: string }>(
      "select erp_customer_number as number from customers where id = $1",
      [id],
    );
    const number = rows[0]?.number ?? "";
    const customers = [erpCustomer(number, { name: "Jakobsen", email: "Jakobsen@example.com" })];
    const address = { ...erpOrder("").deliveryAddress, name: "Jakobsen" };
    const changes = { customerNumber: number, customerName: "Jakobsen", deliveryAddress: address };
    const sent = { revision: "2", lastModified: "2026-03-02T10:00:00.000Z", ...changes };
    const again = { customers, orders: [erpOrder(`O-${number}`, sent)] };
    expect(await importErpResponse(service.database.pool, again)).toMatchObject({
      unchanged: 1,
      updated: 0,
    });
    const later = { customers, orders: [erpOrder(`N-${number}`, changes)] };
    expect(await importErpResponse(service.database.pool, later)).toMatchObject({ created: 1 });
    expect(await tablesWith("Jakobsen")).toEqual([]);
  });

  test("deletes exports of lists, whose files may contain the data, and keeps those of products", async () => {
    const id = await makeCustomer("Slettet Vin");
    const { userId } = await service.login([]);
    const jobs = [
      await makeExport(userId, "customers", "completed"),
      await makeExport(userId, "auditLogs", "running"),
      await makeExport(userId, null, "completed"),
    ];
    expect((await anonymiseCustomer(id)).errors).toBeUndefined();
    expect(await statesOf(jobs)).toEqual(["expired", "failed", "completed"]);
  });

  test("removes quoted notes from notifications of search watches", async () => {
    const id = await makeCustomer("Poulsen");
    const secret = `+45 ${Date.now()}`;
    const body = `Call back\n\non ${secret} (private). ${"Ask about the magnums. ".repeat(20)}`;
    const [note] = await sql<{ id: string }>(
      "insert into customer_notes (customer_id, body) values ($1, $2) returning id",
      [id, body],
    );
    const { userId } = await service.login([]);
    await sql(
      `select add_notifications(array[$1::uuid], 'WATCH_MATCHED', '“Notes”: 1 row', 'New: ' || watched_row_text(left($2, 200)),
         'SearchWatch', $3, $3, true, 'OFF')`,
      [userId, body, note!.id],
    );
    expect(await tablesWith(secret)).toContain("notifications");
    await anonymiseCustomer(id);
    expect(await tablesWith(secret)).toEqual([]);
  });

  test("leaves no note that could be restored", async () => {
    const id = await makeCustomer("Thomsen");
    const notes = '{ deletions(entityType: "CustomerNote", limit: 200) { label } }';
    const labels = async () =>
      ((await service.ask(notes, { token: boss })).data.deletions as { label: string }[]).map(
        ({ label }) => label,
      );
    expect(await labels()).toContain("Thomsen 1");
    const before = (await labels()).length;
    await anonymiseCustomer(id);
    expect((await labels()).length).toBe(before - 1);
  });

  test("comes before a restore that waits for it", async () => {
    const id = await makeCustomer("Ipsen");
    const [deletion] = await sql<{ id: string }>(
      "select id from audit_log where operation = 'DELETE' and entity_type = 'CustomerNote' and before ->> 'body' = 'Ipsen 1'",
    );
    const client = await service.database.pool.connect();
    try {
      await client.query("begin");
      await client.query("select from customers where id = $1 for update", [id]);
      const erasing = anonymiseCustomer(id);
      await waitForLock("the erasure to wait for the customer", "transactionid");
      const restoring = service.ask("mutation ($id: ID!) { restore(auditLogId: $id) }", {
        token: boss,
        variables: { id: deletion?.id },
      });
      await waitForLock("the restore to wait for the erasure", "advisory");
      await client.query("commit");
      expect((await erasing).errors).toBeUndefined();
      expect(refusal(await restoring).code).toBe("NOT_FOUND");
    } finally {
      client.release();
    }
    expect(await tablesWith("Ipsen")).toEqual([]);
  });

  test("waits for restores", async () => {
    const id = await makeCustomer("Juhl");
    const client = await service.database.pool.connect();
    try {
      await client.query("begin; select pg_advisory_xact_lock_shared(erasure_lock())");
      const erasing = anonymiseCustomer(id);
      await waitForLock("the erasure to wait for the restore", "advisory");
      await client.query("insert into customer_notes (customer_id, body) values ($1, 'Juhl 3')", [
        id,
      ]);
      await client.query("commit");
      expect((await erasing).errors).toBeUndefined();
    } finally {
      client.release();
    }
    expect(await tablesWith("Juhl")).toEqual([]);
  });

  test("is recorded, and the audit log still verifies", async () => {
    const id = await makeCustomer("Olesen");
    await sealAll(service.database.pool);
    await anonymiseCustomer(id);
    await sealAll(service.database.pool);
    expect(await brokenRows()).toEqual([]);
    const [recorded] = await sql<{ rows: number; actor: string }>(
      `select (metadata #>> '{erasure,rows}')::integer as rows, actor_user_id as actor from audit_log
       where entity_id = $1 and metadata ? 'erasure'`,
      [id],
    );
    expect(recorded).toEqual({ rows: expect.any(Number), actor: expect.any(String) });
    expect(recorded?.rows).toBeGreaterThanOrEqual(5);
  });

  test("does not hide a change of the audit log without a recorded erasure", async () => {
    const id = await makeCustomer("Poulsen");
    await sealAll(service.database.pool);
    await anonymiseCustomer(id);
    const client = await service.database.pool.connect();
    try {
      await client.query("begin; set local session_replication_role = replica");
      const { rows } = await client.query<{ id: string }>(
        `update audit_log set actor_user_id = uuidv7()
         where id = (select id from audit_log where entity_type = 'User' and operation = 'CREATE' order by id limit 1)
         returning id`,
      );
      // A change that an attacker adds to the list of a real erasure.
      await client.query(
        `insert into audit_erasures (erasure_id, audit_log_id, hash_before, hash_after)
         select e.id, a.id, substr(s.row_hashes, 32 * array_position(s.row_ids, a.id) - 31, 32), audit_row_hash(a)
         from audit_log a join audit_seals s on a.id = any (s.row_ids),
           (select id from audit_log where entity_id = $2 and metadata ? 'erasure') as e
         where a.id = $1`,
        [rows[0]?.id, id],
      );
      const { rows: broken } = await client.query<{ row_id: string; problem: string }>(
        "select v.* from audit_seals s, verify_audit_seal(s.tree, s.position) as v",
      );
      expect(broken).toContainEqual({ row_id: rows[0]?.id, problem: "the row was changed" });
    } finally {
      await client.query("rollback");
      client.release();
    }
  });

  test("is rejected without customers.erase, for an unknown customer and a second time", async () => {
    const id = await makeCustomer("Larsen");
    const reader = await service.login(["customers.read", "customers.update"]);
    expect(refusal(await anonymiseCustomer(id, reader.token))).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: customers.erase",
    });
    expect(refusal(await anonymiseCustomer(randomUUID())).code).toBe("NOT_FOUND");
    expect((await anonymiseCustomer(id)).errors).toBeUndefined();
    expect(refusal(await anonymiseCustomer(id))).toEqual({
      code: "CONFLICT",
      message: "The customer is anonymised already",
    });
  });
});

describe("anonymiseUser", () => {
  /** A former user who booked, was absent, saved a search and wrote to the assistant. */
  async function makeUser(name: string): Promise<string> {
    const { token, userId } = await service.login(
      ["ai.use", "products.read"],
      `${name.toLowerCase()}@example.com`,
    );
    await sql("update users set name = $2 where id = $1", [userId, name]);
    await sql("update users set name = $2 where id = $1", [userId, `${name} Holm`]);
    const [resource] = await sql<{ id: string }>(
      "insert into resources (name, kind) values ($1, 'ROOM') returning id",
      [randomUUID()],
    );
    for (const [document, variables] of [
      [
        `mutation ($input: CreateResourceBookingInput!) { createResourceBooking(input: $input) { id } }`,
        {
          input: {
            resourceId: resource?.id,
            title: "Tasting",
            startsAt: "2030-01-07T09:00:00Z",
            endsAt: "2030-01-07T10:00:00Z",
          },
        },
      ],
      [
        `mutation ($input: CreateAbsenceInput!) { createAbsence(input: $input) { id } }`,
        {
          input: {
            type: "SICK",
            startsOn: "2030-01-07",
            endsOn: "2030-01-08",
            note: `${name}'s back`,
          },
        },
      ],
      [
        `mutation { createSearchWatch(input: { name: "Mine", entity: "products", query: "name:x" }) { id } }`,
        {},
      ],
    ] as const)
      expect((await service.ask(document, { token, variables })).errors).toBeUndefined();
    // A file for the assistant that was not sent.
    await sql(
      `with f as (insert into stored_files (key) values ('file of ' || $1::uuid) returning key)
       insert into ai_attachments (user_id, file_name, media_type, file_size, file_sha256, file_key)
       select $1, $2 || '.csv', 'text/csv', 1, 'e3', f.key from f`,
      [userId, name],
    );
    // A booking that a colleague took over, the user's invitation, and notifications to others.
    await sql(
      `update resource_bookings set booked_by_user_id = (select id from users where email = 'boss@example.com'), booked_by_name = 'boss'
       where booked_by_user_id = $1`,
      [userId],
    );
    await sql(
      `with i as (
         insert into invitations (user_id, email, role_id, state, expires_at, accepted_at)
         values ($1, $2 || '@example.com', uuidv7(), 'accepted', now(), now()) returning id
       )
       insert into jobs (kind, subject, max_attempts, user_id, queue_job_id, input, state, finished_at, error)
       select 'send_invitation', 'Invitation of ' || $2 || '@example.com', 1, $1, 1,
         jsonb_build_object('invitationId', i.id), 'FAILED', now(), $2 || ' is unknown' from i`,
      [userId, name],
    );
    await sql(
      `insert into notifications (user_id, kind, title, subject_key)
       select id, 'BOOKING_CHANGED', $1 || ' Holm changed your booking', uuidv7()::text from users where email = 'boss@example.com'`,
      [name],
    );
    await sql(
      "insert into user_identities (user_id, issuer, subject, email) values ($1, 'https://login.example', $2, $2 || '@example.com')",
      [userId, name],
    );
    return userId;
  }
  const deactivate = async (userId: string) => {
    const { errors } = await service.ask(
      `mutation ($userId: ID!) { deactivateUser(userId: $userId) { id } }`,
      { token: boss, variables: { userId } },
    );
    expect(errors).toBeUndefined();
  };

  test("removes the name and the address of the user from the whole database", async () => {
    const approver = await service.login(["absences.update"]);
    const userId = await makeUser("Gudmund");
    await sql("update users set time_zone = 'Atlantic/Faroe', locale = 'fo-FO' where id = $1", [
      userId,
    ]);
    const { tokenId } = await insertApiToken(service.database, userId, []);
    await sql("update api_tokens set name = 'Laptop of Gudmund' where id = $1", [tokenId]);
    expect(await tablesWith("Gudmund")).toContain("notifications");
    expect(await tablesWith("Gudmund")).toContain("api_tokens");
    await deactivate(userId);
    await sealAll(service.database.pool);
    const { data, errors } = await anonymiseUser(userId);
    expect(errors).toBeUndefined();
    expect(data.anonymiseUser).toMatchObject({
      name: "Former user",
      email: `erased-${userId}@erased.invalid`,
      erasedAt: expect.any(String),
    });
    expect(await tablesWith("Gudmund")).toEqual([]);
    expect(await tablesWith("gudmund@")).toEqual([]);
    for (const text of ["Atlantic/Faroe", "fo-FO"]) expect(await tablesWith(text)).toEqual([]);
    expect(
      await sql(
        "select delete_after is not null as ends from stored_files where key = 'file of ' || $1",
        [userId],
      ),
    ).toEqual([{ ends: true }]);
    const bookings = await service.ask(
      `query ($q: String) { resourceBookings(query: $q) { nodes { title bookedByName } } }`,
      { token: approver.token, variables: { q: `bookedByUserId:${userId}` } },
    );
    expect(bookings.data.resourceBookings.nodes).toEqual([]);
    const notifications = await sql(
      "select title from notifications where title like '%your booking'",
    );
    expect(notifications).toEqual([{ title: "Former user changed your booking" }]);
    await sealAll(service.database.pool);
    expect(await brokenRows()).toEqual([]);
  });

  test("changes no notification that only has a word like the name", async () => {
    const { userId } = await service.login([], "export@example.com");
    await sql(
      `insert into notifications (user_id, kind, title, subject_key)
       select id, 'EXPORT_COMPLETED', 'The export “Orders” is ready', uuidv7()::text from users where email = 'boss@example.com'`,
    );
    await deactivate(userId);
    expect((await anonymiseUser(userId)).errors).toBeUndefined();
    expect(await sql("select title from notifications where title like '%is ready'")).toEqual([
      { title: "The export “Orders” is ready" },
    ]);
  });

  test("removes the types of absences, and cancels requested absences and coming bookings", async () => {
    const userId = await makeUser("Sigrid");
    const [past, coming] = await sql<{ id: string }>(
      `with room as (insert into resources (name, kind) values ('Room of Sigrid', 'ROOM') returning id)
       insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at)
       select room.id, $1, 'Sigrid', 'Course', now() + d.start, now() + d.start + interval '1 hour'
       from room, (values (interval '-3 days'), (interval '3 days')) as d(start) returning id`,
      [userId],
    );
    await deactivate(userId);
    expect((await anonymiseUser(userId)).errors).toBeUndefined();
    expect(
      await sql("select type, status::text, note from absences where user_id = $1", [userId]),
    ).toEqual([{ type: "OTHER", status: "CANCELLED", note: null }]);
    const logged = await sql<{ types: (string | null)[] }>(
      `select array[before ->> 'type', after ->> 'type'] as types from audit_log
       where entity_type = 'Absence' and entity_id in (select id::text from absences where user_id = $1)`,
      [userId],
    );
    const types = new Set(logged.flatMap((row) => row.types));
    expect([...types].toSorted()).toEqual(["[erased]", null]);
    const booked_by_name = "Former user";
    expect(
      await sql(
        "select id, status::text, booked_by_name from resource_bookings where id = any ($1) order by starts_at",
        [[past?.id, coming?.id]],
      ),
    ).toEqual([
      { id: past?.id, status: "BOOKED", booked_by_name },
      { id: coming?.id, status: "CANCELLED", booked_by_name },
    ]);
    await sealAll(service.database.pool);
    expect(await brokenRows()).toEqual([]);
  });

  test("removes the user from the lists of those who are away", async () => {
    const colleague = await service.login([]);
    const userId = await makeUser("Torkild");
    const [absence] = await sql<{ id: string }>(
      `insert into absences (user_id, type, starts_on, ends_on, status)
       values ($1, 'VACATION', '2041-07-01', '2041-07-02', 'APPROVED') returning id`,
      [userId],
    );
    const away = async () => {
      const { data, errors } = await service.ask(
        `query ($query: String!) {
           awayPeriods(query: $query) { nodes { id } } awayDays(startsOn: "2041-07-01") { periodId } }`,
        { token: colleague.token, variables: { query: `userId:${userId}` } },
      );
      expect(errors).toBeUndefined();
      return data;
    };
    expect(await away()).toEqual({
      awayPeriods: { nodes: [{ id: absence?.id }] },
      awayDays: Array(2).fill({ periodId: absence?.id }),
    });
    await deactivate(userId);
    expect((await anonymiseUser(userId)).errors).toBeUndefined();
    expect(await away()).toEqual({ awayPeriods: { nodes: [] }, awayDays: [] });
  });

  test("deletes exports of lists of the user and of colleagues, and keeps those of products", async () => {
    const userId = await makeUser("Ingolf");
    const colleague = await service.login([]);
    await deactivate(userId);
    const jobs = [
      await makeExport(userId, "users", "completed"),
      await makeExport(userId, null, "completed"),
      await makeExport(colleague.userId, "users", "completed"),
      await makeExport(colleague.userId, "resourceBookings", "running"),
    ];
    expect((await anonymiseUser(userId)).errors).toBeUndefined();
    expect(await statesOf(jobs)).toEqual(["expired", "completed", "expired", "failed"]);
    expect(await sql("select error_message from export_jobs where id = $1", [jobs[2]])).toEqual([
      { error_message: expect.stringContaining("personal data was erased") },
    ]);
  });

  test("is rejected for an active user, without users.update, and a second time", async () => {
    const userId = await makeUser("Rigmor");
    expect(refusal(await anonymiseUser(userId))).toEqual({
      code: "CONFLICT",
      message: "The user is active: deactivate them first",
    });
    await deactivate(userId);
    const reader = await service.login(["users.read"]);
    expect(refusal(await anonymiseUser(userId, reader.token)).code).toBe("FORBIDDEN");
    expect((await anonymiseUser(userId)).errors).toBeUndefined();
    expect(refusal(await anonymiseUser(userId)).message).toBe("The user is anonymised already");
  });

  test("prevents an activation of the user, and frees the address for an invitation", async () => {
    const userId = await makeUser("Asger");
    await deactivate(userId);
    await anonymiseUser(userId);
    const activated = await service.ask(
      `mutation ($userId: ID!) { activateUser(userId: $userId) { id } }`,
      { token: boss, variables: { userId } },
    );
    expect(refusal(activated)).toEqual({
      code: "CONFLICT",
      message: "The user is anonymised and cannot be activated",
    });
    const renamed = await service.ask(
      `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Asger" }) { id } }`,
      { token: boss, variables: { id: userId } },
    );
    expect(refusal(renamed)).toEqual({
      code: "CONFLICT",
      message: "The user is anonymised and cannot be changed",
    });
    const again = await service.login([], "asger@example.com");
    expect(again.userId).not.toBe(userId);
  });
});
