import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let auditor: { token: string; userId: string };

const read = `query ($input: AuditLogQueryInput) { auditLogs(input: $input) {
  total limit offset
  items { id actorUserId operation entityType entityId correlationId ipAddress userAgent before after metadata createdAt } } }`;

beforeAll(async () => {
  service = await startService();
  auditor = await service.login(["audit.read", "users.read"]);
});
afterAll(async () => {
  await service.stop();
});

async function logs(input: Record<string, unknown>) {
  const answer = await service.ask(read, { token: auditor.token, variables: { input } });
  expect(answer.errors).toBeUndefined();
  return answer.data.auditLogs;
}

describe("the audit log", () => {
  test("contains the user, the old and new values, the request, the address and the user agent of a change", async () => {
    const admin = await service.login(["users.update"]);
    const target = await service.login([]);
    const answer = await service.ask(
      `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Karen Blixen" }) { id } }`,
      {
        token: admin.token,
        variables: { id: target.userId },
        headers: { "x-correlation-id": "order-66", "user-agent": "office-front/7" },
      },
    );
    expect(answer.errors).toBeUndefined();
    expect(answer.headers.get("x-correlation-id")).toBe("order-66");
    const { items, total } = await logs({
      entityType: "User",
      entityId: target.userId,
      operation: "UPDATE",
    });
    expect(total).toBe(1);
    expect(items[0]).toMatchObject({
      actorUserId: admin.userId,
      operation: "UPDATE",
      entityId: target.userId,
      correlationId: "order-66",
      userAgent: "office-front/7",
      ipAddress: expect.stringMatching(/127\.0\.0\.1$/),
      before: { name: null },
      after: { name: "Karen Blixen" },
      metadata: { source: "api" },
    });
  });

  test("contains no secrets", async () => {
    await service.login([], "secretive@example.com");
    await service.ask(`mutation { devLogin(email: "secretive@example.com") { token } }`);
    const { items } = await logs({ entityType: "Session", operation: "CREATE" });
    expect(items.length).toBeGreaterThan(0);
    for (const item of items) expect(Object.keys(item.after)).not.toContain("tokenHash");
  });

  test("records a change made directly in the database, without an actor", async () => {
    await service.database.pool.query("insert into reviewers (name) values ('Jancis')");
    const { items } = await logs({ entityType: "Reviewer" });
    expect(items).toMatchObject([
      {
        operation: "CREATE",
        actorUserId: null,
        correlationId: null,
        metadata: { source: "db" },
        after: { name: "Jancis" },
      },
    ]);
  });

  test("records no update without changes", async () => {
    await service.database.pool.query(
      "insert into reviewers (name) values ('Hugh'); update reviewers set name = name",
    );
    expect((await logs({ entityType: "Reviewer", operation: "UPDATE" })).total).toBe(0);
  });

  test("records its own reads and reads of users, with the filter and the number of rows", async () => {
    const reader = await service.login(["audit.read", "users.read"]);
    await service.ask(`query People { users { id } me { id } }`, { token: reader.token });
    await service.ask(`query ($id: ID!) { user(id: $id) { id } }`, {
      token: reader.token,
      variables: { id: reader.userId },
    });
    await service.ask(read, {
      token: reader.token,
      variables: { input: { entityType: "Campaign", limit: 10 } },
    });
    const { items } = await logs({ actorUserId: reader.userId, operation: "READ" });
    expect(items).toMatchObject([
      {
        entityType: "AuditLog",
        entityId: null,
        metadata: {
          field: "auditLogs",
          arguments: { input: { entityType: "Campaign", limit: 10 } },
          rows: 0,
        },
      },
      { entityType: "User", entityId: reader.userId, metadata: { field: "user", rows: 1 } },
      {
        entityType: "User",
        entityId: null,
        metadata: { operation: "People", field: "users", rows: expect.any(Number) },
      },
    ]);
    expect(items[2].metadata.rows).toBeGreaterThan(1);
  });

  test("names the row that was read, also for an id in capitals or from a variable's default", async () => {
    const reader = await service.login(["users.read", "customers.read"]);
    const capitals = reader.userId.toUpperCase();
    // Grafast answers the second and the third, because they include pages of users.
    const page = "department { members { nodes { id } } }";
    const asked: [string, Record<string, unknown>][] = [
      ["query ($id: ID!) { user(id: $id) { isActive } }", { id: capitals }],
      [`query ($id: ID!) { user(id: $id) { isActive ${page} } }`, { id: capitals }],
      [`query ($id: ID! = "${capitals}") { user(id: $id) { isActive ${page} } }`, {}],
      [`query ($id: ID! = "${capitals}") { user(id: $id) { isActive } }`, {}],
      [`{ user(id: "${capitals}") { isActive } }`, {}],
    ];
    for (const [query, variables] of asked) {
      const answer = await service.ask(query, { token: reader.token, variables });
      expect(answer.data.user.isActive).toBe(true);
    }
    const ofUser = { actorUserId: reader.userId, entityType: "User", entityId: reader.userId };
    const { items } = await logs({ ...ofUser, operation: "READ" });
    expect(items).toHaveLength(asked.length);
    for (const { metadata } of items)
      expect(metadata).toMatchObject({ field: "user", arguments: { id: capitals }, rows: 1 });

    await service.ask(
      `query ($query: String = "name:Hansen", $first: Int = 5) { customers(query: $query, first: $first) { nodes { id } } }`,
      { token: reader.token, variables: { first: 3 } },
    );
    const read = await logs({ actorUserId: reader.userId, entityType: "Customer" });
    expect(read.items).toMatchObject([
      { metadata: { field: "customers", arguments: { query: "name:Hansen", first: 3 } } },
    ]);
  });

  test("does not record rejected reads", async () => {
    const nobody = await service.login([]);
    await service.ask(`{ users { id } }`, { token: nobody.token });
    await service.ask(`query ($id: ID!) { user(id: $id) { id } }`, {
      token: nobody.token,
      variables: { id: nobody.userId },
    });
    expect((await logs({ actorUserId: nobody.userId, operation: "READ" })).total).toBe(0);
  });

  test("is read newest first, in pages, and between times with an exclusive end", async () => {
    const names = Array.from({ length: 5 }, (_value, index) => `Taster ${index}`);
    for (const name of names)
      await service.database.pool.query("insert into wine_types (name) values ($1)", [name]);
    const all = await logs({ entityType: "WineType", limit: 3, offset: 0 });
    expect(all).toMatchObject({ limit: 3, offset: 0 });
    expect(all.items.map((item: { after: { name: string } }) => item.after.name)).toEqual([
      "Taster 4",
      "Taster 3",
      "Taster 2",
    ]);
    const rest = await logs({ entityType: "WineType", limit: 3, offset: 3 });
    expect(
      rest.items.slice(0, 2).map((item: { after: { name: string } }) => item.after.name),
    ).toEqual(["Taster 1", "Taster 0"]);
    const { createdAt } = all.items[1];
    const from = await logs({ entityType: "WineType", from: createdAt });
    const to = await logs({ entityType: "WineType", to: createdAt });
    expect(Number(from.total) + Number(to.total)).toBe(all.total);
  });

  test("clamps a limit above 200 with a notice, and rejects one below 1, a negative offset and reversed times", async () => {
    expect(await logs({ limit: 5000 })).toMatchObject({ limit: 200 });
    expect(await logs({})).toMatchObject({ limit: 50, offset: 0 });
    for (const [input, field] of [
      [{ limit: 0 }, "limit"],
      [{ limit: -1 }, "limit"],
      [{ offset: -1 }, "offset"],
      [{ operation: "create" }, "operation"],
      [{ from: "2026-02-02T00:00:00Z", to: "2026-02-01T00:00:00Z" }, "from"],
    ] as const) {
      const answer = await service.ask(read, { token: auditor.token, variables: { input } });
      expect(answer.errors?.[0]).toMatchObject({
        message: expect.stringContaining(field),
        extensions: { code: "BAD_USER_INPUT", path: ["input", field] },
      });
    }
  });

  test("needs audit.read", async () => {
    const { token } = await service.login(["users.read"]);
    const answer = await service.ask(read, { token, variables: { input: {} } });
    expect(answer.errors?.[0]?.message).toBe("Missing required permission: audit.read");
  });
});
