import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import type { Pool } from "pg";
import { waitForWaiter } from "../helpers/locked.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown>, token: string) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const person = (permissions: string[] = [], name = "anna") =>
  service.login(permissions, `${name}-${randomUUID()}@example.com`);
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

describe("the last login", () => {
  const lastLogin = async (id: string, token: string) =>
    (await ask(`query ($id: ID!) { user(id: $id) { lastLoginAt } }`, { id }, token)).data.user
      ?.lastLoginAt as string | null;

  test("is visible with users.read and to the user, and outlives the session", async () => {
    const boss = await person(["users.read"], "boss");
    const { userId, token } = await person();
    const seen = await lastLogin(userId, boss.token);
    expect(Date.now() - Date.parse(seen ?? "")).toBeLessThan(60_000);
    const { data } = await ask("{ me { lastLoginAt } }", {}, token);
    expect(data.me.lastLoginAt).toBe(seen);
    await sql("delete from sessions where user_id = $1", [userId]);
    expect(await lastLogin(userId, boss.token)).toBe(seen);
  });

  test("is hidden from colleagues", async () => {
    const [department] = await sql<{ id: string }>(
      "insert into departments (name) values ($1) returning id",
      [randomUUID()],
    );
    const { userId, token } = await person();
    const other = await person();
    await sql("update users set department_id = $1 where id = any ($2)", [
      department!.id,
      [userId, other.userId],
    ]);
    const { data } = await ask("{ me { colleagues { id lastLoginAt } } }", {}, token);
    expect(data.me.colleagues).toEqual([{ id: other.userId, lastLoginAt: null }]);
  });

  test("orders the users, page after page and from both ends", async () => {
    const reader = await person(["users.read"], "reader");
    // The first one never logged in.
    const [never] = await sql<{ id: string }>(
      "insert into users (email, name) values ($1, 'Order') returning id",
      [`never-${randomUUID()}@example.com`],
    );
    const others = [await person(), await person(), await person()].map(({ userId }) => userId);
    await sql("update users set name = 'Order' where id = any ($1)", [others]);
    const page = async (args: string, after: string | null = null) => {
      const { data, errors } = await ask(
        `query ($after: Cursor) { userPages(query: "name:Order", ${args}, after: $after) {
           nodes { id } pageInfo { endCursor hasNextPage } } }`,
        { after },
        reader.token,
      );
      expect(errors).toBeUndefined();
      const { nodes, pageInfo } = data.userPages as {
        nodes: { id: string }[];
        pageInfo: { endCursor: string; hasNextPage: boolean };
      };
      return { ids: nodes.map(({ id }) => id), ...pageInfo };
    };
    for (const [order, expected] of [
      ["LAST_LOGIN_AT_ASC", [...others, never!.id]],
      ["LAST_LOGIN_AT_DESC", [...others.toReversed(), never!.id]],
    ] as const) {
      const first = await page(`orderBy: [${order}], first: 2`);
      const second = await page(`orderBy: [${order}], first: 2`, first.endCursor);
      expect([...first.ids, ...second.ids]).toEqual(expected);
      expect([first.hasNextPage, second.hasNextPage]).toEqual([true, false]);
      expect((await page(`orderBy: [${order}], last: 2`)).ids).toEqual(expected.slice(2));
      expect((await page(`orderBy: [${order}], first: 2, offset: 1`)).ids).toEqual(
        expected.slice(1, 3),
      );
    }
    const { data } = await ask(
      `{ users(query: "name:Order", orderBy: [LAST_LOGIN_AT_DESC], first: 1) { id } }`,
      {},
      reader.token,
    );
    expect(data.users).toEqual([{ id: others.at(-1) }]);
  });

  test("orders no colleagues for a caller without users.read", async () => {
    const [department] = await sql<{ id: string }>(
      "insert into departments (name) values ($1) returning id",
      [randomUUID()],
    );
    const members = [await person(), await person(), await person()].map(({ userId }) => userId);
    await sql("update users set department_id = $1 where id = any ($2)", [department!.id, members]);
    const reader = await person([], "reader");
    await sql("update users set department_id = $1 where id = $2", [department!.id, reader.userId]);
    const { data, errors } = await ask(
      `{ me { up: colleagues(orderBy: [LAST_LOGIN_AT_ASC]) { id } down: colleagues(orderBy: [LAST_LOGIN_AT_DESC]) { id } } }`,
      {},
      reader.token,
    );
    expect(errors).toBeUndefined();
    expect(data.me.up).toHaveLength(3);
    expect(data.me.down).toEqual(data.me.up);
  });
});

describe("logoutEverywhere", () => {
  test("ends the sessions of the caller only", async () => {
    const first = await person();
    const [user] = await sql<{ email: string }>("select email from users where id = $1", [
      first.userId,
    ]);
    const { data } = await service.ask(
      "mutation ($email: String!) { devLogin(email: $email) { token } }",
      { variables: user! },
    );
    const second = { token: data.devLogin.token as string };
    const other = await person();
    const { token } = await insertApiToken(service.database, first.userId);
    expect(refusal(await ask("mutation { logoutEverywhere }", {}, token)).code).toBe("FORBIDDEN");
    expect((await ask("mutation { logoutEverywhere }", {}, first.token)).data).toEqual({
      logoutEverywhere: 2,
    });
    for (const ended of [first, second])
      expect((await ask("{ me { id } }", {}, ended.token)).data.me).toBeNull();
    for (const live of [other.token, token])
      expect((await ask("{ me { id } }", {}, live)).data.me).not.toBeNull();
  });
});

describe("who is away", () => {
  test("is shown for users and campaigns", async () => {
    const reader = await person(["users.read", "campaigns.read"], "reader");
    const { userId } = await person();
    const day = (days: number) =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    await sql(
      `insert into absences (user_id, type, starts_on, ends_on, status) values
         ($1, 'VACATION', $2, $3, 'APPROVED'), ($1, 'SICK', $4, $4, 'REQUESTED')`,
      [userId, day(-2), day(5), day(20)],
    );
    for (const days of [3, 8, 20])
      await sql(
        `insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ($1, '1', $2, 'EMAIL', $3::date + time '12:00')`,
        [`In ${days} days`, userId, day(days)],
      );
    const { data, errors } = await ask(
      `query ($id: ID!) { user(id: $id) { awayUntil campaigns(orderBy: [SCHEDULED_AT_ASC]) { nodes { title isAuthorAway } } } }`,
      { id: userId },
      reader.token,
    );
    expect(errors).toBeUndefined();
    expect(data.user).toEqual({
      awayUntil: day(5),
      campaigns: {
        nodes: [
          { title: "In 3 days", isAuthorAway: true },
          { title: "In 8 days", isAuthorAway: false },
          { title: "In 20 days", isAuthorAway: false },
        ],
      },
    });
  });
});

test("who is away is hidden from scoped tokens", async () => {
  const permissions = ["users.read", "campaigns.read"];
  const reader = await person(permissions, "reader");
  const { userId } = await person();
  await sql(
    `insert into absences (user_id, type, starts_on, ends_on, status)
     values ($1, 'VACATION', current_date - 2, current_date + 2, 'APPROVED')`,
    [userId],
  );
  await sql(
    "insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ('Now', '1', $1, 'EMAIL', now())",
    [userId],
  );
  const scoped = await insertApiToken(service.database, reader.userId, permissions);
  const unscoped = await insertApiToken(service.database, reader.userId);
  const away = async (token: string) => {
    const { data, errors } = await ask(
      `query ($id: ID!) { user(id: $id) { awayUntil campaigns { nodes { isAuthorAway } } } }`,
      { id: userId },
      token,
    );
    expect(errors).toBeUndefined();
    return data.user as unknown;
  };
  expect(await away(scoped.token)).toEqual({
    awayUntil: null,
    campaigns: { nodes: [{ isAuthorAway: null }] },
  });
  expect(await away(unscoped.token)).toEqual({
    awayUntil: expect.any(String),
    campaigns: { nodes: [{ isAuthorAway: true }] },
  });
});

test("a person is away by the calendar of the person's own time zone", async () => {
  const reader = await person(["users.read", "campaigns.read"], "reader");
  // Their dates always differ.
  for (const timeZone of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    const { userId } = await person();
    const today = new Intl.DateTimeFormat("en-CA", { timeZone }).format();
    await sql("update users set time_zone = $2 where id = $1", [userId, timeZone]);
    await sql(
      `insert into absences (user_id, type, starts_on, ends_on, status) values ($1, 'VACATION', $2, $2, 'APPROVED')`,
      [userId, today],
    );
    await sql(
      "insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ('Now', '1', $1, 'EMAIL', now())",
      [userId],
    );
    const { data } = await ask(
      `query ($id: ID!) { user(id: $id) { awayUntil campaigns { nodes { isAuthorAway } } } }`,
      { id: userId },
      reader.token,
    );
    expect(data.user).toEqual({
      awayUntil: today,
      campaigns: { nodes: [{ isAuthorAway: true }] },
    });
  }
});

describe("handOver", () => {
  const notices = (userId: string) =>
    sql("select kind, title, body from notifications where user_id = $1", [userId]);
  const handOver = (fromUserId: string, toUserId: string, token: string) =>
    ask(
      `mutation ($from: ID!, $to: ID!) { handOver(fromUserId: $from, toUserId: $to) { campaigns bookings watches templates views } }`,
      { from: fromUserId, to: toUserId },
      token,
    );

  test("transfers open campaigns, future bookings, watches and templates", async () => {
    const boss = await person(["users.update", "exporttemplates.update"], "boss");
    const [from, to] = [
      await person(["exporttemplates.update"], "leaver"),
      await person([], "heir"),
    ];
    const created = await ask(
      `mutation ($input: CreateExportTemplateInput!) { createExportTemplate(input: $input) { id ownerName } }`,
      { input: { name: randomUUID(), kind: "TABLE", columns: [{ field: "name" }] } },
      from.token,
    );
    expect(created.data.createExportTemplate.ownerName).toMatch(/^leaver-/);
    const template = created.data.createExportTemplate.id as string;
    await sql(
      `insert into campaigns (title, price, author_user_id, medium, scheduled_at, status)
       select s::text, '1', $1, 'EMAIL', now(), s from unnest(enum_range(null::campaign_status)) s`,
      [from.userId],
    );
    await sql(
      `with room as (insert into resources (name, kind) values ($2, 'ROOM') returning id)
       insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at)
       select id, $1, 'Leaver', 'Tasting', now() + d * interval '1 day', now() + d * interval '1 day' + interval '1 hour'
       from room, unnest(array[-2, 2]) d`,
      [from.userId, randomUUID()],
    );
    await sql(
      `insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at, is_ready)
       values ($1, 'Barolo', 'products', 'barolo', 'products', 'select 1', '[]', 'select 1', 0, true)`,
      [from.userId],
    );
    await sql(
      `insert into saved_views (user_id, name, entity, role_id)
       select u.user_id, s.name, 'products', case s.name when 'Shared' then u.role_id end
       from user_roles u, unnest(array['Own', 'Shared']) as s(name) where u.user_id = $1`,
      [from.userId],
    );
    expect((await handOver(from.userId, to.userId, boss.token)).data.handOver).toEqual({
      campaigns: 4,
      bookings: 1,
      watches: 1,
      templates: 1,
      views: 1,
    });
    const { data } = await ask(
      "query ($id: ID!) { exportTemplate(id: $id) { ownerName } }",
      { id: template },
      (await person(["exports.read"], "reader")).token,
    );
    expect(data.exportTemplate.ownerName).toMatch(/^heir-/);
    const rows = await sql(
      `select booked_by_name, booked_by_user_id = $1 as heir from resource_bookings where title = 'Tasting' order by starts_at`,
      [to.userId],
    );
    expect(rows).toEqual([
      { booked_by_name: "Leaver", heir: false },
      { booked_by_name: expect.stringMatching(/^heir-/), heir: true },
    ]);
    const watches = await sql("select is_ready from search_watches where user_id = $1", [
      to.userId,
    ]);
    expect(watches).toEqual([{ is_ready: false }]);
    expect(await sql("select name from saved_views where user_id = $1", [to.userId])).toEqual([
      { name: "Shared" },
    ]);
    expect(await notices(to.userId)).toEqual([
      {
        kind: "WORK_HANDED_OVER",
        title: expect.stringMatching(/^boss-\S+ handed over the work of leaver-\S+ to you$/),
        body: "4 open campaigns, 1 future booking, 1 export template, 1 search watch, 1 shared view",
      },
    ]);
  });

  test("notifies neither of nothing nor those who take over by themselves", async () => {
    const boss = await person(["users.update"], "boss");
    const [from, to] = [await person([], "leaver"), await person([], "heir")];
    await handOver(from.userId, to.userId, boss.token);
    await sql(
      "insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ('Cava', '1', $1, 'EMAIL', now())",
      [from.userId],
    );
    const { data } = await handOver(from.userId, boss.userId, boss.token);
    expect(data.handOver.campaigns).toBe(1);
    expect([await notices(to.userId), await notices(boss.userId)]).toEqual([[], []]);
  });

  test("pauses watches of lists that the new owner cannot read, with the reason", async () => {
    const boss = await person(["users.update", "products.read", "orders.read"], "boss");
    const from = await person(["products.read", "orders.read"], "leaver");
    const to = await person(["products.read"], "heir");
    for (const entity of ["products", "orders", "absences"])
      await sql(
        `insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at)
         values ($1, $2, $2, 'id:*', $2, 'select 1', '[]', 'select 1', 0)`,
        [from.userId, entity],
      );
    expect((await handOver(from.userId, to.userId, boss.token)).data.handOver.watches).toBe(3);
    const { data } = await ask("{ searchWatches { name isPaused problem } }", {}, to.token);
    expect(data.searchWatches).toEqual([
      { name: "absences", isPaused: false, problem: null },
      {
        name: "orders",
        isPaused: true,
        problem: "The handover paused it, because you lack the permission orders.read",
      },
      { name: "products", isPaused: false, problem: null },
    ]);
  });

  describe("of search watches", () => {
    const withWatches = async (count: number, name: string) => {
      const { userId, token } = await person(["products.read"], name);
      await addWatches(service.database.pool, userId, count);
      return { userId, token };
    };
    const addWatches = (client: Pick<Pool, "query">, userId: string, count: number) =>
      client.query(
        `insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at)
         select $1, n::text, 'products', 'barolo', 'products', 'select 1', '[]', 'select 1', 0 from generate_series(1, $2) n`,
        [userId, count],
      );
    const counts = async (userIds: string[]) => {
      const rows = await sql<{ watches: number; campaigns: number }>(
        `select (select count(*)::integer from search_watches w where w.user_id = u) as watches,
           (select count(*)::integer from campaigns c where c.author_user_id = u) as campaigns
         from unnest($1::uuid[]) with ordinality as t(u, place) order by place`,
        [userIds],
      );
      return rows.map(({ watches, campaigns }) => [watches, campaigns]);
    };

    test("fills the limit of the new owner", async () => {
      const boss = await person(["users.update", "products.read"], "boss");
      const [from, to] = [await withWatches(30, "leaver"), await withWatches(20, "heir")];
      expect((await handOver(from.userId, to.userId, boss.token)).data.handOver.watches).toBe(30);
      const answer = await ask(
        "mutation ($input: CreateSearchWatchInput!) { createSearchWatch(input: $input) { id } }",
        { input: { name: "One more", entity: "products", query: "barolo" } },
        to.token,
      );
      expect(refusal(answer)).toEqual({
        code: "CONFLICT",
        message: "You have 50 search watches: delete one first",
      });
    });

    test("beyond the limit of the new owner transfers nothing", async () => {
      const boss = await person(["users.update", "products.read"], "boss");
      const [from, to] = [await withWatches(30, "leaver"), await withWatches(31, "heir")];
      await sql(
        "insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ('Open', '1', $1, 'EMAIL', now())",
        [from.userId],
      );
      const { errors } = await handOver(from.userId, to.userId, boss.token);
      expect(errors).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(
            /^leaver-\S+ has 30 search watches and heir-\S+ has 31, and a person can have 50: one of them must delete 11 first, or choose another person$/,
          ),
          extensions: expect.objectContaining({ code: "CONFLICT", path: ["toUserId"] }),
        }),
      ]);
      expect(await counts([from.userId, to.userId])).toEqual([
        [30, 1],
        [31, 0],
      ]);
    });

    test.each(["leaver", "heir"])("counts one that the %s creates meanwhile", async (creator) => {
      const boss = await person(["users.update", "products.read"], "boss");
      const [from, to] = [await withWatches(30, "leaver"), await withWatches(20, "heir")];
      const { pool } = service.database;
      const client = await pool.connect();
      try {
        // As `createSearchWatch` does.
        await client.query("begin");
        const { userId } = creator === "heir" ? to : from;
        await client.query("select from users where id = $1 for no key update", [userId]);
        await addWatches(client, userId, 1);
        const answer = handOver(from.userId, to.userId, boss.token);
        await waitForWaiter(pool);
        await client.query("commit");
        expect(refusal(await answer).code).toBe("CONFLICT");
      } finally {
        // Closes the connection, with a transaction that a failure left open.
        client.release(true);
      }
    });

    test("without any accepts a new owner at the limit", async () => {
      const boss = await person(["users.update", "products.read"], "boss");
      const [from, to] = [await withWatches(0, "leaver"), await withWatches(50, "heir")];
      expect((await handOver(from.userId, to.userId, boss.token)).data.handOver.watches).toBe(0);
    });
  });

  test("rejects callers without users.update and unknown or inactive users", async () => {
    const boss = await person(["users.update"], "boss");
    const { userId, token } = await person();
    expect(refusal(await handOver(userId, boss.userId, token)).message).toBe(
      "Missing required permission: users.update",
    );
    expect(refusal(await handOver(userId, userId, boss.token)).message).toBe(
      "toUserId must be another person",
    );
    expect(refusal(await handOver(randomUUID(), userId, boss.token)).code).toBe("NOT_FOUND");
    await sql("update users set is_active = false where id = $1", [userId]);
    expect(refusal(await handOver(boss.userId, userId, boss.token)).message).toBe(
      "There is no active user with this id",
    );
  });
});
