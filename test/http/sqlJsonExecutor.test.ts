import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { type Service, startService } from "../helpers/service.ts";

// Operations that are one message to the database, including the authentication of the caller.
let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createDatabase();
  service = await startService({
    database,
    // All callers use the same connection.
    env: { DATABASE_POOL_SIZE: "1" },
  });
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const sql = (text: string, values: unknown[] = []) => database.pool.query(text, values);
const users = (token: string | null) => service.ask("{ users { id roles { name } } }", { token });
const campaign = (author: string, title: string) => ({
  input: {
    title,
    price: "99 DKK",
    medium: "EMAIL",
    scheduledAt: "2026-12-24T12:00:00.000Z",
    authorUserId: author,
  },
});
const create = `mutation Create($input: CreateCampaignInput!) { createCampaign(input: $input) {
  title price color vintage note medium status scheduledAt product { name } author { id email roles { id name } } } }`;

describe("a caller", () => {
  test("gets no data after a permission is revoked", async () => {
    const { token, userId, roleId } = await service.login(["users.read"]);
    const codes = async () => {
      const answers = await Promise.all([users(token), users(token), users(token)]);
      return [...new Set(answers.map(({ errors }) => errors?.[0]?.extensions.code ?? "seen"))];
    };
    const steps = [
      [
        "delete from role_permissions where role_id = $1",
        "insert into role_permissions (role_id, permission_id) select $1, id from permissions where key = 'users.read'",
        roleId,
        "FORBIDDEN",
      ],
      [
        "delete from user_roles where user_id = $1",
        `insert into user_roles (user_id, role_id) select $1, '${roleId}'`,
        userId,
        "FORBIDDEN",
      ],
      [
        "update sessions set expires_at = now() - interval '1 second' where user_id = $1",
        "update sessions set expires_at = now() + interval '1 hour' where user_id = $1",
        userId,
        "UNAUTHENTICATED",
      ],
    ] as const;
    for (let round = 0; round < 3; round++)
      for (const [take, give, id, refusal] of steps) {
        expect(await codes()).toEqual(["seen"]);
        await sql(take, [id]);
        expect(await codes()).toEqual([refusal]);
        await sql(give, [id]);
      }
    await sql("update users set is_active = false where id = $1", [userId]);
    expect(await codes()).toEqual(["UNAUTHENTICATED"]);
  });

  test("leaves no state on the connection", async () => {
    const mighty = await service.login(["users.read", "roles.read"]);
    const other = await service.login(["campaigns.read"]);
    for (let round = 0; round < 3; round++) {
      expect((await users(mighty.token)).errors).toBeUndefined();
      expect((await users(null)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
      expect((await users(`${mighty.token.slice(0, -1)}!`)).data ?? null).toBeNull();
      expect((await users(other.token)).errors?.[0]?.extensions.code).toBe("FORBIDDEN");
      expect((await service.ask("{ campaigns { id } }", other)).data).toEqual({ campaigns: [] });
    }
    const { rows } = await sql(
      "select distinct actor_user_id as actor, entity_type as type from audit_log where operation = 'READ' and actor_user_id = any ($1) order by 2",
      [[mighty.userId, other.userId]],
    );
    expect(rows).toEqual([
      { actor: mighty.userId, type: "Role" },
      { actor: mighty.userId, type: "User" },
    ]);
  });

  test("with a scoped token gets only its scopes, and the audit names the token", async () => {
    const { userId } = await service.login(["users.read", "campaigns.create"]);
    const narrowed = await insertApiToken(database, userId, ["campaigns.create"]);
    expect((await users(narrowed.token)).errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const { data } = await service.ask(create, {
      token: narrowed.token,
      variables: campaign(userId, "By token"),
    });
    expect(data.createCampaign).toMatchObject({ title: "By token", author: { id: userId } });
    const { rows } = await sql(
      "select actor_user_id, metadata ->> 'tokenId' as token from audit_log where entity_type = 'Campaign' and after ->> 'title' = 'By token'",
    );
    expect(rows).toEqual([{ actor_user_id: userId, token: narrowed.tokenId }]);
  });
});

describe("a query of one row by a variable", () => {
  test("answers and audits each id, and rejects an invalid one", async () => {
    const { token, userId } = await service.login(["users.read"]);
    const other = await service.login([]);
    const one = async (id: unknown) => {
      const answer = await service.ask("query One($id: ID!) { user(id: $id) { id } }", {
        token,
        variables: { id },
      });
      return answer.errors?.[0]?.extensions.code ?? answer.data.user?.id ?? null;
    };
    for (let round = 0; round < 2; round++) {
      expect(await one("no id")).toBe("BAD_USER_INPUT");
      expect(await one(userId)).toBe(userId);
      expect(await one(null)).toBe("BAD_USER_INPUT");
      expect(await one(other.userId.toUpperCase())).toBe(other.userId);
      expect(await one(randomUUID())).toBeNull();
    }
    const { rows } = await sql(
      `select entity_id as id, metadata -> 'arguments' ->> 'id' as asked, (metadata -> 'rows')::integer as rows, count(*)::integer
       from audit_log where operation = 'READ' and actor_user_id = $1 and entity_id = any ($2) group by 1, 2, 3 order by 1`,
      [userId, [userId, other.userId]],
    );
    expect(rows).toEqual(
      [
        { id: userId, asked: userId, rows: 1, count: 2 },
        { id: other.userId, asked: other.userId.toUpperCase(), rows: 1, count: 2 },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  });
});

describe("a mutation in one message", () => {
  const made = async (title: string) =>
    (await sql("select id from campaigns where title = $1", [title])).rows.length;

  test("returns and audits the same as with an Idempotency-Key, which Grafast executes", async () => {
    for (const keys of [["campaigns.create"], ["campaigns.create", "users.read", "roles.read"]]) {
      const { token, userId } = await service.login(keys);
      const ask = async (title: string, headers: Record<string, string>) => {
        const correlationId = randomUUID();
        const { data, errors } = await service.ask(create, {
          token,
          variables: campaign(userId, title),
          headers: { ...headers, "X-Correlation-Id": correlationId },
        });
        expect(errors).toBeUndefined();
        const { rows } = await sql(
          `select operation, entity_type, case when operation = 'READ' then entity_id end as id, metadata, actor_user_id
           from audit_log where correlation_id = $1 order by 1, 2`,
          [correlationId],
        );
        return { ...data.createCampaign, title: "", rows };
      };
      const direct = await ask("Direct", {});
      expect(direct).toMatchObject({ status: "DRAFT", author: { id: userId } });
      expect(direct.rows.length).toBeGreaterThan(1);
      expect(direct).toEqual(await ask("With a key", { "Idempotency-Key": randomUUID() }));
    }
  });

  test.each([
    ["a page of related rows", "campaigns", "sql-json"],
    ["the arguments of a page to Grafast", "campaigns(first: 1)", "grafast"],
  ])("returns or leaves %s", async (_what, page, by) => {
    const { token, userId } = await service.login(["campaigns.create", "campaigns.read"]);
    const { data, errors, headers } = await service.ask(
      `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) {
        author { id ${page} { nodes { title } pageInfo { hasNextPage } } } } }`,
      { token, variables: campaign(userId, "Only one") },
    );
    expect(errors).toBeUndefined();
    expect(data.createCampaign.author.campaigns).toEqual({
      nodes: [{ title: "Only one" }],
      pageInfo: { hasNextPage: false },
    });
    expect(headers.get("x-answered-by")).toBe(by);
  });

  test("reports invalid input and keeps the connection usable", async () => {
    const { token, userId } = await service.login(["campaigns.create"]);
    for (const [variables, message] of [
      [campaign(userId, " "), /^title/],
      [campaign(randomUUID(), "No author"), /^authorUserId: there is no user with this id$/],
    ] as const) {
      const refused = await service.ask(create, { token, variables });
      expect(refused.errors?.[0]).toMatchObject({
        message: expect.stringMatching(message),
        extensions: { code: "BAD_USER_INPUT" },
      });
      const { errors } = await service.ask(create, { token, variables: campaign(userId, "Right") });
      expect(errors).toBeUndefined();
    }
    expect([await made("No author"), await made("Right")]).toEqual([0, 2]);
  });

  test("calls its function once when the database refuses it", async () => {
    const { token, userId } = await service.login(["campaigns.create"]);
    // A sequence keeps its value when the transaction is rolled back.
    await sql(`create sequence backoffice.calls;
      create function backoffice.count_call() returns trigger as $$
      begin
        perform nextval('backoffice.calls');
        perform backoffice.fail('OF409', 'The calendar is closed');
      end $$ language plpgsql security definer;
      create trigger count_calls before insert on backoffice.campaigns for each row execute function backoffice.count_call()`);
    try {
      const { data, errors, headers } = await service.ask(create, {
        token,
        variables: campaign(userId, "Refused"),
      });
      expect(errors).toMatchObject([
        {
          message: "The calendar is closed",
          path: ["createCampaign"],
          locations: [{ line: 1 }],
          extensions: { code: "CONFLICT" },
        },
      ]);
      expect(data).toBeNull();
      expect(headers.get("x-answered-by")).toBe("sql-json");
      expect((await sql("select last_value::integer as calls from backoffice.calls")).rows).toEqual(
        [{ calls: 1 }],
      );
    } finally {
      await sql(
        "drop trigger count_calls on backoffice.campaigns; drop function backoffice.count_call(); drop sequence backoffice.calls",
      );
    }
  });

  test("runs again when it lost against a concurrent transaction", async () => {
    const { token, userId } = await service.login(["campaigns.create"]);
    await sql(`create sequence backoffice.calls;
      create function backoffice.lose_twice() returns trigger as $$
      begin
        if nextval('backoffice.calls') <= 2 then
          raise exception 'deadlock detected' using errcode = '40P01';
        end if;
        return new;
      end $$ language plpgsql security definer;
      create trigger lose_twice before insert on backoffice.campaigns for each row execute function backoffice.lose_twice()`);
    try {
      const { data, errors } = await service.ask(create, {
        token,
        variables: campaign(userId, "Third time"),
      });
      expect(errors).toBeUndefined();
      expect(data.createCampaign.title).toBe("Third time");
      expect(await made("Third time")).toBe(1);
    } finally {
      await sql(
        "drop trigger lose_twice on backoffice.campaigns; drop function backoffice.lose_twice(); drop sequence backoffice.calls",
      );
    }
  });

  test("is not repeated when the connection breaks with an unknown outcome", async () => {
    const { token, userId } = await service.login(["campaigns.create"]);
    let answer: unknown;
    await locked(database.pool, "campaigns", async (release) => {
      const asked = service.ask(create, { token, variables: campaign(userId, "Once") });
      await waitForWaiter(database.pool);
      await sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      await release();
      answer = await asked;
    });
    expect(answer).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: "UNAVAILABLE" } }],
    });
    expect(await made("Once")).toBe(0);
  });
});

describe("the header X-Answered-By", () => {
  test.each([
    ["{ users { id } }", "sql-json"],
    ["{ auditLogs { total } }", "sql-json"],
    ["{ auditLogs { totalIsExact } }", "grafast"],
    ["{ users { id } mySessions { id } }", "grafast"],
    ["{ mySessions { id } }", "grafast"],
  ])("of %s is %s", async (query, by) => {
    const { token } = await service.login(["users.read", "audit.read"]);
    const { errors, headers } = await service.ask(query, { token });
    expect(errors).toBeUndefined();
    expect(headers.get("x-answered-by")).toBe(by);
  });
});

describe("a response too long for one write", () => {
  // Both lists have several megabytes, and some rows exceed the size of one write.
  const rows = 600;
  const noteOf = (n: number) =>
    `${n}: "two"\r\nlines\\n \t\u2028 🍷 ${"é".repeat(n % 10 === 0 ? 19_900 : 300)}`;
  const query =
    "{ campaigns { id title note author { id } } again: campaigns(first: 500) { note } }";
  let caller: Awaited<ReturnType<Service["login"]>>;

  beforeAll(async () => {
    caller = await service.login(["campaigns.read", "users.read"]);
    await sql("delete from campaigns");
    await sql(
      `insert into campaigns (title, note, price, author_user_id, medium, scheduled_at)
       select 'Long ' || n, note, '1 DKK', $1, 'EMAIL', timestamptz '2026-12-01' + n * interval '1 minute'
       from unnest($2::text[]) with ordinality as notes (note, n)`,
      [caller.userId, Array.from({ length: rows }, (_none, n) => noteOf(n))],
    );
  });

  test.each([
    ["", query],
    [", also by Grafast", query.replace("{", "{ mySessions { id }")],
  ])("is complete and audited once%s", async (_where, asked) => {
    const correlationId = randomUUID();
    const { data, errors, headers } = await service.ask(asked, {
      ...caller,
      headers: { "X-Correlation-Id": correlationId, "Accept-Encoding": "identity" },
    });
    expect(errors).toBeUndefined();
    // Counted in bytes, so that a missing or additional row is detected.
    expect(Number(headers.get("content-length"))).toBeGreaterThan(4_000_000);
    const notes = Array.from({ length: rows }, (_none, n) => noteOf(rows - 1 - n));
    expect(data.campaigns.map(({ note }: { note: string }) => note)).toEqual(notes);
    expect(data.again).toEqual(notes.slice(0, 500).map((note) => ({ note })));
    expect(data.campaigns[0]).toMatchObject({
      title: `Long ${rows}`,
      author: { id: caller.userId },
    });
    const { rows: records } = await sql(
      "select entity_type as type, entity_id as id, metadata -> 'rows' as rows from audit_log where operation = 'READ' and correlation_id = $1",
      [correlationId],
    );
    expect(records).toEqual([{ type: "User", id: caller.userId, rows }]);
  });

  test("does not affect other clients when its client disconnects", async () => {
    const before = service.output().length;
    for (let n = 0; n < 5; n++) {
      const leaving = new AbortController();
      const response = await fetch(`${service.url}/graphql`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          authorization: `Bearer ${caller.token}`,
        },
        body: JSON.stringify({ query }),
        signal: leaving.signal,
      });
      expect(response.status).toBe(200);
      leaving.abort();
      await expect(response.text()).rejects.toThrow("aborted");
    }
    const { data } = await service.ask(query, caller);
    expect(data.campaigns).toHaveLength(rows);
    expect(service.output().slice(before)).not.toMatch(/"level":"(?!info)/);
  });
});
