import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { crontab } from "../../src/workers/tasks.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { createDatabase } from "../helpers/database.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { delayJobs } from "../helpers/workers/delayJobs.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let service: Service;
let anna: { token: string; userId: string; roleId: string };

/** The tests of evaluations queue the job themselves. */
const withoutPoll = { constants: { worker: { changePollMs: 3_600_000 } } };
const startWorkerWithoutPoll = () => startWorkerProcess(service.database.url, {}, withoutPoll);

beforeAll(async () => {
  service = await startService();
  // Only the tests' own calls run the job. Others would deliver some rows before the rest, load a baseline that a test
  // looks at, or mail a notification.
  await delayJobs(sql, ":run_watches:(schedule|saved)$|:schedule_notifications:schedule$");
  await startWorkerWithoutPoll();
  anna = await person();
});
afterAll(async () => {
  await endWorkers();
  await service.stop();
});

const person = (permissions = ["products.read", "products.update", "products.create"]) =>
  service.login(permissions, `anna-${randomUUID()}@example.com`);
const ask = (query: string, variables: Record<string, unknown>, token = anna.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions["path"],
  position: errors?.[0]?.extensions["position"],
  length: errors?.[0]?.extensions["length"],
});
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

const fields =
  "id name entity query events delivery channels isPaused matchCount lastMatchAt problem";
const create = (input: Record<string, unknown>, token = anna.token) =>
  ask(
    `mutation ($input: CreateSearchWatchInput!) { createSearchWatch(input: $input) { ${fields} } }`,
    { input: { name: "Cheap", entity: "products", ...input } },
    token,
  );
const update = (id: string, input: Record<string, unknown>, token = anna.token) =>
  ask(
    `mutation ($id: ID!, $input: UpdateSearchWatchInput!) { updateSearchWatch(id: $id, input: $input) { ${fields} } }`,
    { id, input },
    token,
  );

/** Runs the job once, and waits for its end. */
async function run(): Promise<void> {
  const [job] = await sql<{ id: string }>(
    "select queue_job('run_watches', '{}', $1, null, 5) as id",
    [randomUUID()],
  );
  await waitFor("the watches to run", async () => {
    const rows = await sql("select from graphile_worker._private_jobs where id = $1", [job!.id]);
    return rows.length === 0;
  });
}
/**
 * Waits until a watch has a baseline and is settled. Settling evaluates all rows, after the transactions of all databases
 * of the server that ran before, and other test files have such.
 */
async function baseline(id: string): Promise<void> {
  await waitFor("the watch to know its rows", async () => {
    await run();
    const [row] = await sql<{ is: boolean }>(
      "select is_ready and is_settled as is from search_watches where id = $1",
      [id],
    );
    return row?.is;
  });
}
/** A watch with a baseline. */
async function watching(input: Record<string, unknown>, token = anna.token): Promise<string> {
  const { data, errors } = await create(input, token);
  expect(errors).toBeUndefined();
  const { id } = data.createSearchWatch as { id: string };
  await baseline(id);
  return id;
}
const delivered = async (id: string) =>
  (
    await sql<{ title: string; body: string }>(
      "select title, body from notifications where entity_id = $1 order by created_at, id",
      [id],
    )
  ).map(({ title, body }) => [title, ...body.split("\n")]);
/** Each test uses its own region, so that it does not see products of other tests. */
async function makeProducts(region: string, ...names: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) {
    const { data, errors } = await ask(
      `mutation ($input: CreateProductInput!) { createProduct(input: $input) { id } }`,
      { input: { erpProductNumber: randomUUID(), name, region } },
    );
    expect(errors).toBeUndefined();
    ids.push(data.createProduct.id as string);
  }
  return ids;
}
const move = (id: string, region: string) =>
  sql("update products set region = $2 where id = $1", [id, region]);

describe("a watch", () => {
  test("reports new rows and rows that start to match once", async () => {
    const region = randomUUID();
    const [before, elsewhere] = [
      await makeProducts(region, "Known"),
      await makeProducts("elsewhere", "Other"),
    ];
    const id = await watching({ query: `region:"${region}"` });
    await makeProducts(region, "Fresh");
    await move(elsewhere[0]!, region);
    await sql("update products set name = 'Known still' where id = $1", [before[0]]);
    await run();
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 2 rows", "New: Fresh", "Matches: Other"]]);
    const { data } = await ask(`query ($id: ID!) { searchWatch(id: $id) { ${fields} } }`, { id });
    expect(data.searchWatch).toMatchObject({
      matchCount: 2,
      lastMatchAt: expect.any(String),
      events: ["CREATED", "MATCHES"],
      delivery: "AT_ONCE",
      channels: ["INBOX"],
    });
  });

  test("reports rows that stop matching or change when subscribed", async () => {
    const region = randomUUID();
    const [stays, goes, dies] = await makeProducts(region, "Stays", "Goes", "Dies");
    const id = await watching({ query: `region:"${region}"`, events: ["LEAVES", "CHANGED"] });
    await makeProducts(region, "Comes");
    await sql("update products set vintage = 2001 where id = $1", [stays]);
    await sql("update products set vintage = vintage where region = $1", [region]);
    await move(goes!, "elsewhere");
    await sql("delete from products where id = $1", [dies]);
    await run();
    const [[title, ...lines] = []] = await delivered(id);
    expect(title).toBe("“Cheap”: 2 rows");
    expect(lines.toSorted()).toEqual(["Changed: Stays", "No longer matches: Goes"]);
  });

  test("reports new and rescheduled campaigns", async () => {
    const owner = await person(["campaigns.read"]);
    const title = `Harvest ${randomUUID()}`;
    const add = (name: string, scheduledAt: string) =>
      sql(
        `insert into campaigns (title, price, author_user_id, medium, scheduled_at)
         values ($1, '1', $2, 'EMAIL', $3)`,
        [`${title} ${name}`, owner.userId, scheduledAt],
      );
    await add("known", "2040-10-02T08:00:00Z");
    await add("moved", "2040-11-01T08:00:00Z");
    const query = `"${title}" scheduledAt:<2040-11-01`;
    const id = await watching({ entity: "campaigns", query }, owner.token);
    await add("new", "2040-10-03T08:00:00Z");
    await add("late", "2040-11-02T08:00:00Z");
    await sql("update campaigns set scheduled_at = '2040-10-04T08:00:00Z' where title = $1", [
      `${title} moved`,
    ]);
    await run();
    const [[heading, ...lines] = []] = await delivered(id);
    expect(heading).toBe("“Cheap”: 2 rows");
    expect(lines.toSorted()).toEqual([`Matches: ${title} moved`, `New: ${title} new`]);
  });

  test("detects changes of related rows", async () => {
    const region = randomUUID();
    const [product] = await makeProducts(region, "Priced");
    const id = await watching({ query: `region:"${region}" prices.amount:<100` });
    await sql(
      "insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'DKK', 99)",
      [product],
    );
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "Matches: Priced"]]);
  });

  test("detects changes of related rows that no field of the search engine shows", async () => {
    const owner = await person(["customers.read"]);
    const name = `Customer ${randomUUID()}`;
    const [customer] = await sql<{ id: string }>(
      "insert into customers (erp_customer_number, name) values (left($1, 20), $2) returning id",
      [randomUUID(), name],
    );
    const word = `cork${randomUUID().slice(0, 8)}`;
    const input = { entity: "customers", query: `notes.body:${word}*` };
    const all = { ...input, events: ["CREATED", "MATCHES", "LEAVES"] };
    const id = await watching(all, owner.token);
    const forNew = await watching({ ...input, events: ["CREATED"] }, owner.token);
    const note =
      "insert into customer_notes (customer_id, body) select id, $2 from customers where id = $1";
    await sql(note, [customer!.id, `${word} arrived`]);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `Matches: ${name}`]]);
    // All rows are evaluated once in ten seconds at most, counted from a time that no slow run reaches.
    await sql("update search_watches set related_at = now() + interval '1 hour' where id = $1", [
      id,
    ]);
    await sql("delete from customer_notes where customer_id = $1", [customer!.id]);
    await run();
    expect(await delivered(id)).toHaveLength(1);
    expect((await delivered(id))[0]).toHaveLength(2);
    await sql("update search_watches set related_due_at = now() where id = $1", [id]);
    await run();
    expect(await delivered(id)).toEqual([
      ["“Cheap”: 1 row", `No longer matches: ${name}`, `Matches: ${name}`],
    ]);
    expect(await delivered(forNew)).toEqual([]);
  });

  test("detects changes of related rows without an audit trail", async () => {
    const owner = await person(["orders.read", "erpsync.read"]);
    const number = randomUUID().slice(0, 20);
    const [order] = await sql<{ id: string }>(
      `insert into orders (erp_order_number, erp_customer_number, customer_name, placed_at, status)
       values ($1, '1', 'Customer', now(), 'OPEN') returning id`,
      [number],
    );
    const key = randomUUID();
    const query = `importIssueHistory:(key:"${key}" -resolvedAt:*)`;
    const id = await watching(
      { entity: "orders", query, events: ["MATCHES", "LEAVES"] },
      owner.token,
    );
    await sql(
      `insert into order_import_issues (order_id, kind, code, key, message, order_placed_at, order_is_superseded)
       values ($1, 'MAPPING', 'warehouse.unmapped', $2, 'No rule', now(), false)`,
      [order!.id, key],
    );
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `Matches: ${number}`]]);
    await sql("update order_import_issues set resolved_at = now() where key = $1", [key]);
    await sql("update search_watches set related_due_at = now() where id = $1", [id]);
    await run();
    expect((await delivered(id))[0]).toContain(`No longer matches: ${number}`);
  });

  test("detects changes of a join table", async () => {
    const owner = await person(["users.read"]);
    const role = `Role ${randomUUID()}`;
    const email = `${randomUUID()}@example.com`;
    await sql("insert into roles (name) values ($1)", [role]);
    await sql("insert into users (email) values ($1)", [email]);
    const id = await watching({ entity: "users", query: `roles.name:"${role}"` }, owner.token);
    await sql(
      "insert into user_roles (user_id, role_id) select u.id, r.id from users u, roles r where u.email = $1 and r.name = $2",
      [email, role],
    );
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `Matches: ${email}`]]);
  });

  test("detects changes of the referenced row", async () => {
    const owner = await person(["orders.read", "customers.read"]);
    const name = `Customer ${randomUUID()}`;
    const [customer] = await sql<{ id: string }>(
      "insert into customers (erp_customer_number, name) values (left($1, 20), 'Old name') returning id",
      [randomUUID()],
    );
    const number = randomUUID().slice(0, 20);
    await sql(
      `insert into orders (erp_order_number, customer_id, erp_customer_number, customer_name, placed_at, status)
       values ($1, $2, '1', 'Old name', now(), 'OPEN')`,
      [number, customer!.id],
    );
    const id = await watching({ entity: "orders", query: `customer.name:"${name}"` }, owner.token);
    await sql("update customers set name = $2 where id = $1", [customer!.id, name]);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `Matches: ${number}`]]);
  });

  test("reports a new row with related rows as one event", async () => {
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"`, events: ["CREATED", "CHANGED"] });
    await sql(
      `begin;
       insert into products (erp_product_number, name, region)
       select gen_random_uuid(), 'Wine ' || n, '${region}' from generate_series(1, 1100) n;
       insert into product_prices (product_id, type, currency, amount)
       select id, 'retail', 'DKK', 1 from products where region = '${region}';
       commit`,
    );
    await run();
    const rows = await sql<{ match_count: number }>(
      "select match_count from search_watches where id = $1",
      [id],
    );
    expect(rows).toEqual([{ match_count: 1100 }]);
  });

  test("lists ten names at most", async () => {
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"`, channels: ["INBOX", "EMAIL"] });
    await sql(
      `insert into products (erp_product_number, name, region)
       select gen_random_uuid(), 'Wine ' || n, $1 from generate_series(1, 12) n`,
      [region],
    );
    await run();
    const [[title, ...lines] = []] = await delivered(id);
    expect([title, lines.length, lines.at(-1)]).toEqual(["“Cheap”: 12 rows", 11, "2 more"]);
    const [row] = await sql<{ due: boolean }>(
      "select mail_at <= now() as due from notifications where entity_id = $1",
      [id],
    );
    expect(row?.due).toBe(true);
  });

  test("skips events while it is paused or its owner is inactive", async () => {
    for (const [sleep, wake] of [
      ["update search_watches set is_paused = true", "update search_watches set is_paused = false"],
      ["update users set is_active = false", "update users set is_active = true"],
    ]) {
      const owner = await person();
      const region = randomUUID();
      const id = await watching({ query: `region:"${region}"` }, owner.token);
      const only = sleep!.includes("users") ? owner.userId : id;
      await sql(`${sleep} where id = $1`, [only]);
      await makeProducts(region, "While asleep");
      await run();
      await sql(`${wake} where id = $1`, [only]);
      await baseline(id);
      await makeProducts(region, "After it");
      await run();
      expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: After it"]]);
    }
  });

  test("skips rows that its owner can no longer read", async () => {
    const owner = await person(["products.read"]);
    const region = randomUUID();
    const [known] = await makeProducts(region, "Known");
    const input = { query: `region:"${region}"`, events: ["CREATED", "LEAVES", "CHANGED"] };
    const id = await watching(input, owner.token);
    const daily = await watching({ ...input, delivery: "DAILY" }, owner.token);
    await makeProducts(region, "Seen");
    await run();
    await sql("delete from role_permissions where role_id = $1", [owner.roleId]);
    await move(known!, "elsewhere");
    await makeProducts(region, "Hidden");
    await sql("update search_watches set due_at = now() where id = $1", [daily]);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: Seen"]]);
    expect(await delivered(daily)).toEqual([]);
    const counts = await sql("select match_count from search_watches where id = any ($1)", [
      [id, daily],
    ]);
    expect(counts).toEqual([{ match_count: 1 }, { match_count: 1 }]);
    const { data } = await ask("{ searchWatches { isPaused problem } }", {}, owner.token);
    const problem = "The watch finds nothing, because you lack the permission products.read";
    expect(data.searchWatches).toEqual([
      { isPaused: false, problem },
      { isPaused: false, problem },
    ]);
  });

  test("collects events until its daily or weekly delivery", async () => {
    const region = randomUUID();
    const daily = await watching({ query: `region:"${region}"`, delivery: "DAILY" });
    const weekly = await watching({ query: `region:"${region}"`, delivery: "WEEKLY" });
    await makeProducts(region, "First");
    await run();
    await makeProducts(region, "Second");
    await run();
    const due = await sql<{ hour: string; monday: boolean; ahead: boolean }>(
      `select to_char(due_at at time zone 'Europe/Copenhagen', 'HH24:MI') as hour, due_at > now() as ahead,
         extract(isodow from due_at at time zone 'Europe/Copenhagen') = 1 as monday
       from search_watches where id = any ($1) order by id`,
      [[daily, weekly]],
    );
    expect(due).toEqual([
      { hour: "08:00", monday: expect.any(Boolean), ahead: true },
      { hour: "08:00", monday: true, ahead: true },
    ]);
    expect(await delivered(daily)).toEqual([]);
    await sql("update search_watches set due_at = now() where id = $1", [daily]);
    await run();
    expect(await delivered(daily)).toEqual([["“Cheap”: 2 rows", "New: First", "New: Second"]]);
  });

  test("merges deliveries within an hour into one notification, with the latest rows first", async () => {
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"` });
    await makeProducts(region, "First");
    await run();
    await sql("update notifications set read_at = now() where entity_id = $1", [id]);
    await makeProducts(region, "Second", "Third");
    await run();
    expect(await delivered(id)).toEqual([
      ["“Cheap”: 3 rows", "New: Second", "New: Third", "New: First"],
    ]);
    const [row] = await sql("select read_at, occurrences from notifications where entity_id = $1", [
      id,
    ]);
    expect(row).toEqual({ read_at: null, occurrences: 3 });
    await sql(
      `insert into products (erp_product_number, name, region)
       select gen_random_uuid(), 'Wine ' || n, $1 from generate_series(1, 9) n`,
      [region],
    );
    await run();
    const [[title, ...lines] = []] = await delivered(id);
    expect(title).toBe("“Cheap”: 12 rows");
    expect(lines.slice(-2)).toEqual(["New: Second", "2 more"]);

    await sql(
      "update notifications set created_at = now() - interval '61 minutes' where entity_id = $1",
      [id],
    );
    await makeProducts(region, "Later");
    await run();
    expect((await delivered(id)).at(-1)).toEqual(["“Cheap”: 1 row", "New: Later"]);
  });

  test("counts a row with several events once", async () => {
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"`, events: ["CREATED", "CHANGED"] });
    const [first] = await makeProducts(region, "First", "Second");
    await run();
    await sql("update products set vintage = 2001 where id = $1", [first]);
    await run();
    expect(await delivered(id)).toEqual([
      ["“Cheap”: 2 rows", "Changed: First", "New: First", "New: Second"],
    ]);
  });

  test("mails rows that come after a mail an hour later, in one more mail", async () => {
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"`, channels: ["EMAIL"] });
    const mails = () =>
      sql<{ mailed: boolean; claimed: boolean; minutes: number }>(
        `select mailed_at is not null as mailed, mail_id is not null as claimed,
           round(extract(epoch from mail_at - now()) / 60)::integer as minutes
         from notifications where entity_id = $1 order by created_at, id`,
        [id],
      );
    await makeProducts(region, "First");
    await run();
    expect(await mails()).toEqual([{ mailed: false, claimed: false, minutes: 0 }]);
    // A mail that is being sent cannot take further rows.
    await sql("update notifications set mail_id = uuidv7() where entity_id = $1", [id]);
    await makeProducts(region, "Second");
    await run();
    expect(await mails()).toEqual([
      { mailed: false, claimed: true, minutes: 0 },
      { mailed: false, claimed: false, minutes: 0 },
    ]);
    await sql(
      "update notifications set mailed_at = now() where entity_id = $1 and mail_id is not null",
      [id],
    );
    await makeProducts(region, "Third");
    await run();
    expect(await mails()).toEqual([
      { mailed: false, claimed: false, minutes: 60 },
      { mailed: false, claimed: false, minutes: 0 },
    ]);
    expect(await delivered(id)).toEqual([
      ["“Cheap”: 2 rows", "New: Third", "New: First"],
      ["“Cheap”: 1 row", "New: Second"],
    ]);
  });

  test("reports a row without a name by its detail, and audits the read", async () => {
    const owner = await person(["users.read"]);
    const email = `${randomUUID()}@example.com`;
    const id = await watching({ entity: "users", query: `email:"${email}"` }, owner.token);
    await sql("insert into users (email) values ($1)", [email]);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `New: ${email}`]]);
    // Reads of users are in the audit log.
    const reads = await sql(
      `select actor_user_id, entity_type, metadata -> 'rows' as rows from audit_log
       where operation = 'READ' and metadata ->> 'watchId' = $1`,
      [id],
    );
    expect(reads).toEqual([{ actor_user_id: owner.userId, entity_type: "User", rows: 1 }]);
  });

  test("is paused with the reason when its search fails", async () => {
    const region = randomUUID();
    const broken = await watching({ query: `region:"${region}"` });
    const sound = await watching({ query: `region:"${region}"` });
    await sql("update search_watches set statement = 'select gone from products' where id = $1", [
      broken,
    ]);
    await makeProducts(region, "New one");
    await run();
    expect(await delivered(sound)).toHaveLength(1);
    const { data } = await ask(`query ($id: ID!) { searchWatch(id: $id) { isPaused problem } }`, {
      id: broken,
    });
    expect(data.searchWatch).toEqual({
      isPaused: true,
      problem: 'The search failed: column "gone" does not exist',
    });
    expect((await update(broken, { isPaused: false })).data.updateSearchWatch).toMatchObject({
      problem: null,
    });
  });

  test("is restored by its owner, paused until it is resumed", async () => {
    const owner = await person(["products.read"]);
    const region = randomUUID();
    const id = await watching({ query: `region:"${region}"` }, owner.token);
    await ask("mutation ($id: ID!) { deleteSearchWatch(id: $id) }", { id }, owner.token);
    const { data } = await ask("{ deletions { auditLogId entityId label } }", {}, owner.token);
    const deletion = data.deletions[0].auditLogId as string;
    expect(data.deletions[0]).toMatchObject({ entityId: id, label: "Cheap" });
    const restore = (token: string) =>
      ask("mutation ($id: ID!) { restore(auditLogId: $id) }", { id: deletion }, token);
    const scoped = await insertApiToken(service.database, owner.userId, ["products.read"]);
    for (const { token } of [anna, scoped])
      expect(refusal(await restore(token)).code).toBe("NOT_FOUND");
    expect((await restore(owner.token)).data).toEqual({ restore: 1 });
    expect(await sql("select is_paused, problem from search_watches where id = $1", [id])).toEqual([
      { is_paused: true, problem: "Restored, and not evaluated until you resume it" },
    ]);
    await run();
    expect((await update(id, { isPaused: false }, owner.token)).data.updateSearchWatch).toEqual(
      expect.objectContaining({ isPaused: false, problem: null }),
    );
    await baseline(id);
    await makeProducts(region, "After it");
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: After it"]]);
  });

  test("creates a new baseline after a change of its query", async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    await makeProducts(second, "There already");
    const id = await watching({ query: `region:"${first}"` });
    expect(
      (await update(id, { query: `region:"${second}"`, name: "Other" })).errors,
    ).toBeUndefined();
    await baseline(id);
    await makeProducts(second, "Later");
    await makeProducts(first, "Not any more");
    await run();
    expect(await delivered(id)).toEqual([["“Other”: 1 row", "New: Later"]]);
  });

  test("compares with its new baseline after a change of its query or a pause", async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const [moved] = await makeProducts(first, "Moved");
    const id = await watching({ query: `region:"${first}"`, events: ["MATCHES", "LEAVES"] });
    const again = async (input: Record<string, unknown>) => {
      expect((await update(id, input)).errors).toBeUndefined();
      await waitFor("the baseline", async () => {
        await run();
        const [row] = await sql<{ known: boolean }>(
          "select is_ready or is_paused as known from search_watches where id = $1",
          [id],
        );
        return row?.known;
      });
    };
    await again({ query: `region:"${second}"` });
    // It matched the first query only: it does not leave the second.
    await sql("update products set vintage = 1999 where id = $1", [moved]);
    await run();
    expect(await delivered(id)).toEqual([]);
    await move(moved!, second);
    await run();
    await again({ isPaused: true });
    await move(moved!, first);
    await again({ isPaused: false });
    await move(moved!, second);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "Matches: Moved", "Matches: Moved"]]);
  });
});

describe("the baseline of a watch", () => {
  const allEvents = ["CREATED", "MATCHES", "LEAVES", "CHANGED"];
  const saved = async (input: Record<string, unknown>) => {
    const { data, errors } = await create(input);
    expect(errors).toBeUndefined();
    return data.createSearchWatch.id as string;
  };
  const runTwice = async (id: string) => {
    await run();
    await baseline(id);
    await run();
  };

  test("is that of the save: rows created before the first evaluation are reported once", async () => {
    const region = randomUUID();
    await makeProducts(region, "Known");
    const id = await saved({ query: `region:"${region}"`, events: allEvents });
    await makeProducts(region, "Fresh");
    await runTwice(id);
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: Fresh"]]);
  });

  test("is that of the save when another watch of the list is evaluated first", async () => {
    const region = randomUUID();
    await watching({ query: `region:"${randomUUID()}"` });
    const id = await saved({ query: `region:"${region}"`, events: ["CREATED"] });
    await makeProducts(region, "Fresh");
    await runTwice(id);
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: Fresh"]]);
  });

  test("tells changes after the save from earlier ones that no job has handled", async () => {
    const region = randomUUID();
    await watching({ query: `region:"${randomUUID()}"` });
    const [, changes, leaves] = await makeProducts(region, "Known", "Changes", "Leaves");
    const id = await saved({ query: `region:"${region}"`, events: allEvents });
    await sql("update products set vintage = 2001 where id = $1", [changes]);
    await move(leaves!, "elsewhere");
    await runTwice(id);
    const [[title, ...lines] = []] = await delivered(id);
    expect(title).toBe("“Cheap”: 2 rows");
    expect(lines.toSorted()).toEqual(["Changed: Changes", "No longer matches: Leaves"]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["a new query", { query: "new" }],
    ["the end of a pause", { isPaused: false }],
  ])("is that of the save of %s", async (_title, input) => {
    const region = randomUUID();
    await makeProducts(region, "Known");
    const query = `region:"${region}"`;
    const id = await watching({ query: input["query"] ? "region:nowhere" : query });
    if (!input["query"]) {
      await update(id, { isPaused: true });
      await makeProducts(region, "While asleep");
    }
    const { errors } = await update(id, input["query"] ? { query } : input);
    expect(errors).toBeUndefined();
    await makeProducts(region, "Fresh");
    await runTwice(id);
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: Fresh"]]);
  });

  test("lacks rows of a transaction that runs during the save, which are reported after its end", async () => {
    const owner = await person(["reviewers.read"]);
    const name = `Reviewer ${randomUUID()}`;
    const client = await service.database.pool.connect();
    // No watch of the list exists yet, so that the change is not queued.
    await client.query("begin");
    await client.query("insert into reviewers (name) values ($1)", [`${name} Late`]);
    const { data } = await create({ entity: "reviewers", query: `"${name}"` }, owner.token);
    const { id } = data.createSearchWatch;
    await sql("insert into reviewers (name) values ($1)", [`${name} Fresh`]);
    await run();
    expect(await delivered(id)).toEqual([["“Cheap”: 1 row", `New: ${name} Fresh`]]);
    await client.query("commit");
    client.release();
    // Transactions of other databases of the cluster delay the evaluation too.
    await waitFor("the late row to be reported", async () => {
      await runTwice(id);
      return (await delivered(id))[0]?.[0] === "“Cheap”: 2 rows";
    });
    expect(await delivered(id)).toEqual([
      ["“Cheap”: 2 rows", `Matches: ${name} Late`, `New: ${name} Fresh`],
    ]);
  });

  test("is saved as one value, and written as rows by the job", async () => {
    const region = randomUUID();
    await makeProducts(region, "Known", "Other");
    const id = await saved({ query: `region:"${region}"` });
    const state = () =>
      sql(
        `select cardinality(baseline_ids) as kept,
           (select count(*)::integer from search_watch_rows r where r.watch_id = w.id) as written
         from search_watches w where id = $1`,
        [id],
      );
    expect(await state()).toEqual([{ kept: 2, written: 0 }]);
    await run();
    expect(await state()).toEqual([{ kept: null, written: 2 }]);
  });
});

describe("saving a watch", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "a search with an error, at its position",
      { query: "x regoin:x" },
      {
        code: "BAD_USER_INPUT",
        message: expect.stringContaining("`regoin` is not a field"),
        path: ["input", "query"],
        position: 3,
        length: 6,
      },
    ],
    [
      "an unknown list",
      { entity: "product", query: "x" },
      { code: "BAD_USER_INPUT", path: ["input", "entity"] },
    ],
    [
      "notifications",
      { entity: "notifications", query: "id:*" },
      {
        code: "BAD_USER_INPUT",
        message: "entity: notifications cannot be watched, because watches create notifications",
        path: ["input", "entity"],
      },
    ],
    [
      "jobs",
      { entity: "jobs", query: "id:*" },
      {
        code: "BAD_USER_INPUT",
        message:
          "entity: jobs cannot be watched, because each attempt of a job changes its row, and the user of a failed job is notified",
        path: ["input", "entity"],
      },
    ],
    [
      "search watches",
      { entity: "searchWatches", query: "id:*" },
      {
        code: "BAD_USER_INPUT",
        message:
          "entity: searchWatches cannot be watched, because each event of a watch changes its row",
        path: ["input", "entity"],
      },
    ],
    [
      "a list whose rows have no id",
      { entity: "campaignColors", query: "color:x" },
      {
        code: "BAD_USER_INPUT",
        message:
          "entity: campaignColors cannot be watched, because its rows have no `id` of the type uuid",
        path: ["input", "entity"],
      },
    ],
    [
      "a list that the caller may not read",
      { entity: "orders", query: "id:*" },
      { code: "FORBIDDEN", message: "Missing required permission: orders.read" },
    ],
    [
      "a relative time",
      { query: "updatedAt:>=today-7d" },
      {
        message: "query: a watch cannot use relative times such as today-7d at position 13",
        path: ["input", "query"],
        position: 13,
        length: 8,
      },
    ],
    ["no event", { query: "x", events: [] }, { message: "events must name at least one event" }],
    [
      "no name",
      { query: "x", name: " " },
      { message: "name must be 1 to 200 visible characters without spaces at its ends" },
    ],
  ])("rejects %s", async (_what, input, expected) => {
    expect(refusal(await create(input))).toMatchObject(expected);
  });

  test("rejects a search through a table with the tag @watch off", async () => {
    const database = await createDatabase();
    await database.pool.query(
      `do $$ begin execute format('comment on table customer_notes is %L',
         regexp_replace(obj_description('customer_notes'::regclass), '@audit [^\\n]*', E'@audit off because of this test\\n@watch off because of this test')); end $$`,
    );
    const other = await startService({ database });
    try {
      const { token } = await other.login(["customers.read"]);
      const answer = await other.ask(
        "mutation ($input: CreateSearchWatchInput!) { createSearchWatch(input: $input) { id } }",
        {
          token,
          variables: { input: { name: "Notes", entity: "customers", query: "notes.body:cork" } },
        },
      );
      expect(refusal(answer)).toEqual({
        code: "BAD_USER_INPUT",
        message: "query: a watch cannot search CustomerNote, because of this test",
        path: ["input", "query"],
      });
    } finally {
      await other.stop();
    }
  });

  test("rejects a search with more than 10,000 matching rows", async () => {
    const reader = await person(["reviewers.read"]);
    await sql(
      "insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 10001) n",
    );
    expect(refusal(await create({ entity: "reviewers", query: "id:*" }, reader.token))).toEqual({
      code: "BAD_USER_INPUT",
      message: "query matches more than 10000 rows: narrow it",
      path: ["input", "query"],
    });
    expect(
      (await create({ entity: "reviewers", query: "name:reviewer*" }, reader.token)).errors,
    ).toHaveLength(1);
    expect(
      (await create({ entity: "reviewers", query: 'name:"Reviewer 77"' }, reader.token)).errors,
    ).toBeUndefined();
  });

  test("rejects scoped tokens, watches of others and more than 50 watches", async () => {
    const owner = await person(["products.read"]);
    const scoped = await insertApiToken(service.database, owner.userId, ["products.read"]);
    expect(refusal(await create({ query: "x" }, scoped.token)).code).toBe("FORBIDDEN");
    const { data } = await create({ query: "x" }, owner.token);
    const { id } = data.createSearchWatch;
    const remove = (token: string) =>
      ask(`mutation ($id: ID!) { deleteSearchWatch(id: $id) }`, { id }, token);
    const missing = {
      code: "NOT_FOUND",
      message: "There is no search watch of yours with this id",
      path: ["id"],
    };
    for (const answer of [await update(id, { name: "Mine" }), await remove(anna.token)])
      expect(refusal(answer)).toEqual(missing);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => create({ query: "x" }, owner.token)),
    );
    expect(answers.filter(({ errors }) => errors).map(refusal)).toMatchObject([
      { code: "CONFLICT", message: "You have 50 search watches: delete one first" },
    ]);
    expect((await remove(owner.token)).data.deleteSearchWatch).toBe(true);
    const own = await ask("{ searchWatches { id } }", {}, owner.token);
    expect(own.data.searchWatches).toHaveLength(49);
  });
});

test("jobs run one at a time, whatever starts them", async () => {
  const client = await service.database.pool.connect();
  try {
    // Workers do not see jobs of an open transaction.
    await client.query("begin");
    await client.query("delete from row_changes where reader = 'watches'");
    await client.query(
      "select add_row_changes('{watches}', 'products', array[gen_random_uuid()], true)",
    );
    await client.query("select queue_changes(false), queue_watches('saved')");
    const { rows } = await client.query(
      `select distinct q.queue_name from graphile_worker._private_jobs j
         left join graphile_worker._private_job_queues q on q.id = j.job_queue_id
       where j.key in ('backoffice:run_watches:changes', 'backoffice:run_watches:saved')`,
    );
    expect(rows).toEqual([{ queue_name: "backoffice:watches" }]);
    const scheduled = crontab("backoffice").find(({ task }) => task === "run_watches");
    expect(scheduled?.options?.queueName).toBe("backoffice:watches");
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("concurrent jobs record each event once", async () => {
  const region = randomUUID();
  const id = await watching({ query: `region:"${region}"` });
  await sql(
    `insert into products (erp_product_number, name, region)
     select gen_random_uuid(), 'Wine ' || n, $1 from generate_series(1, 900) n`,
    [region],
  );
  await Promise.all([run(), run(), run()]);
  const rows = await sql<{ match_count: number }>(
    "select match_count from search_watches where id = $1",
    [id],
  );
  expect(rows).toEqual([{ match_count: 900 }]);
});

test("compares many watches with many rows in time for their matches, without statistics", async () => {
  const [watches, rows] = [200, 1_000];
  const client = await service.database.pool.connect();
  try {
    await client.query("begin; set local statement_timeout = '20s'");
    await client.query(
      `delete from search_watches; delete from row_changes;
       insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at, is_ready)
       select '${anna.userId}', 'Watch ' || n, 'products', 'x', 'products', '', '[]', '', 0, true from generate_series(1, ${watches}) n;
       insert into row_changes (reader, table_name, row_id, is_new)
       select 'watches', 'products', gen_random_uuid(), true from generate_series(1, ${rows});
       insert into search_watch_rows (watch_id, row_id) select w.id, c.row_id from search_watches w, row_changes c where c.id % 10 = 0`,
    );
    // Every watch matches a fifth of the rows, half of them for the first time.
    const { rows: recorded } = await client.query<{ count: number }>(
      `select record_watch_results(
         (select jsonb_agg(to_jsonb(c)) from row_changes c),
         (select jsonb_agg(jsonb_build_object('id', w.id, 'isReady', true, 'version', watch_version(w), 'matches', m.found)) from search_watches w,
           (select jsonb_agg(jsonb_build_array(c.row_id, 'Wine')) as found from row_changes c where c.id % 5 = 0) as m),
         '{}') as count`,
    );
    expect(recorded).toEqual([{ count: watches }]);
    const { rows: events } = await client.query(
      "select event, count(*)::integer as count from search_watch_notices group by 1",
    );
    expect(events).toEqual([{ event: "CREATED", count: (watches * rows) / 10 }]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("records each event once when the worker is killed", async () => {
  await endWorkers();
  // Watches of other tests slow this test down.
  await sql("delete from search_watches");
  const region = randomUUID();
  const first = await startWorkerWithoutPoll();
  const id = await watching({ query: `region:"${region}"` });
  const count = 2_500;
  await sql(
    `insert into products (erp_product_number, name, region)
     select gen_random_uuid(), 'Wine ' || n, $2 from generate_series(1, $1::integer) n`,
    [count, region],
  );
  await sql("select queue_job('run_watches', '{}', 'killed', null, 5)");
  const left = async () =>
    (
      await sql<{ left: number }>(
        "select count(*)::integer as left from row_changes where reader = 'watches'",
      )
    )[0]!.left;
  await waitFor("a part to be done", async () => (await left()) < count);
  first.signal("SIGKILL");
  await first.exited;
  expect(await left()).toBeGreaterThan(0);
  await startWorkerWithoutPoll();
  await waitFor("the rest to be done", async () => (await left()) === 0);
  await run();
  const rows = await sql<{ match_count: number }>(
    "select match_count from search_watches where id = $1",
    [id],
  );
  expect(rows).toEqual([{ match_count: count }]);
});

test("notifies the owner of a change without a queued job", async () => {
  const region = randomUUID();
  const id = await watching({ query: `region:"${region}"` });
  await endWorkers();
  await startWorkerProcess(service.database.url);
  await makeProducts(region, "Seen by the poll");
  await waitFor("the notification", async () => (await delivered(id)).length > 0, 20_000);
  expect(await delivered(id)).toEqual([["“Cheap”: 1 row", "New: Seen by the poll"]]);
});
