import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashToken } from "../../src/auth/tokens.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";

const day = 24 * 60 * 60 * 1000;
const unknownId = "00000000-0000-7000-8000-000000000000";
const createMine = `mutation ($input: CreateApiTokenInput!) {
  createMyApiToken(input: $input) {
    id name token scopes isScoped createdAt expiresAt lastUsedAt revokedAt userId createdByUserId createdByTokenId
  }
}`;
const createTheirs = `mutation ($userId: ID!, $input: CreateApiTokenInput!) {
  createUserApiToken(userId: $userId, input: $input) { id token scopes isScoped userId createdByUserId }
}`;

let service: Service;

beforeAll(async () => {
  service = await startService();
  // Somebody is Superadmin: nobody can be deactivated where nobody is.
  await service.ask(`mutation { bootstrapFirstUser(email: "first@example.com") { token } }`);
});
afterAll(async () => {
  await service.stop();
});

const mine = (token: string, input: Record<string, unknown> = {}) =>
  service.ask(createMine, { token, variables: { input: { name: "script", ...input } } });
const theirs = (token: string, userId: string, input: Record<string, unknown> = {}) =>
  service.ask(createTheirs, { token, variables: { userId, input: { name: "script", ...input } } });
const revoke = (token: string, id: string) =>
  service.ask(`mutation ($id: ID!) { revokeApiToken(id: $id) }`, { token, variables: { id } });
const opens = async (token: string) =>
  (await service.ask(`{ me { id } }`, { token })).data.me !== null;
const refusal = async (token: string, query: string, variables: Record<string, unknown> = {}) =>
  (await service.ask(query, { token, variables })).errors?.[0]?.message;

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

async function giveRole(userId: string, permissions: readonly string[]): Promise<void> {
  const { roleId } = await service.login(permissions);
  await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [userId, roleId]);
}

describe("Making an API token", () => {
  test("shows the secret once and keeps its hash only", async () => {
    const { token, userId } = await service.login([]);
    const { createMyApiToken: made } = (await mine(token, { name: "  nightly export " })).data;
    expect(made).toMatchObject({
      name: "nightly export",
      token: expect.stringMatching(/^boa_[\w-]{43}[0-9a-f]{8}$/),
      scopes: [],
      isScoped: false,
      lastUsedAt: null,
      revokedAt: null,
      userId,
      createdByUserId: userId,
      createdByTokenId: null,
    });
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeGreaterThanOrEqual(365 * day);
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeLessThanOrEqual(366 * day);

    const list = await service.ask(`{ myApiTokens { id token } }`, { token });
    expect(list.data.myApiTokens).toEqual([{ id: made.id, token: null }]);
    expect(await sql("select token_hash from api_tokens where id = $1", [made.id])).toEqual([
      { token_hash: hashToken(made.token) },
    ]);
    const written = JSON.stringify(await sql("select * from audit_log")) + service.output();
    expect(written).not.toContain(made.token);
    expect(written).not.toContain(hashToken(made.token).toString("hex"));
    expect(await sql("select after from audit_log where entity_type = 'ApiToken' and entity_id = $1", [made.id])).toEqual(
      [{ after: expect.not.objectContaining({ tokenHash: expect.anything() }) }],
    );
  });

  test("gives each of several in one operation its own secret", async () => {
    const { token } = await service.login([]);
    const { data } = await service.ask(
      `mutation { a: createMyApiToken(input: {name: "a"}) { token name } b: createMyApiToken(input: {name: "b"}) { token name } }`,
      { token },
    );
    expect(data.a.name + data.b.name).toBe("ab");
    expect(data.a.token).not.toBe(data.b.token);
    expect(await opens(data.a.token)).toBe(true);
    expect(await opens(data.b.token)).toBe(true);
  });

  test("narrows it to scopes, each once", async () => {
    const { token } = await service.login(["campaigns.read", "users.read"]);
    const { data } = await mine(token, { scopes: ["users.read", "campaigns.read", "users.read"] });
    expect(data.createMyApiToken).toMatchObject({ scopes: ["campaigns.read", "users.read"], isScoped: true });
  });

  test.each([
    ["no scopes at all", { scopes: [] }, /^scopes must name at least one permission/, "scopes"],
    ["scopes that are null", { scopes: null }, /^scopes must name at least one permission/, "scopes"],
    ["unknown scopes", { scopes: ["campaigns.read", "wine.drink", "all"] }, "scopes: there are no permissions all, wine.drink", "scopes"],
    ["scopes that its owner lacks", { scopes: ["audit.read", "campaigns.read", "users.read"] }, "scopes: the token's owner does not hold audit.read, users.read", "scopes"],
    ["a blank name", { name: "  " }, /^name must be 1 to 100 visible characters/, "name"],
    ["a long name", { name: "x".repeat(101) }, /^name must be 1 to 100 visible characters/, "name"],
    ["an end in the past", { expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt must lie in the future", "expiresAt"],
    ["an end far away", { expiresAt: new Date(Date.now() + 5.1 * 365.25 * day).toISOString() }, "expiresAt must lie within five years", "expiresAt"],
  ])("is refused with %s", async (_what, input, message, field) => {
    const { token, userId } = await service.login(["campaigns.read"]);
    const { errors } = await mine(token, input);
    expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT", path: ["input", field] } }]);
    expect(errors?.[0]?.message).toEqual(message instanceof RegExp ? expect.stringMatching(message) : message);
    expect(await sql("select from api_tokens where user_id = $1", [userId])).toEqual([]);
  });

  test("is refused without a login, and past a hundred live ones", async () => {
    const anonymous = await service.ask(createMine, { variables: { input: { name: "x" } } });
    expect(anonymous.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
    const { token, userId } = await service.login([]);
    await sql(
      `insert into api_tokens (user_id, name, token_hash, is_scoped, expires_at, created_by_user_id)
       select $1, 'many', uuid_send(uuidv7()), false, now() + interval '1 day', $1 from generate_series(1, 99)`,
      [userId],
    );
    const last = await mine(token);
    expect(last.errors).toBeUndefined();
    expect((await mine(token)).errors?.[0]?.extensions.code).toBe("CONFLICT");
    await revoke(token, last.data.createMyApiToken.id);
    expect((await mine(token)).errors).toBeUndefined();
  });
});

describe("Making an API token for another user", () => {
  test("needs users.update and a user who is active", async () => {
    const { userId } = await service.login([]);
    const plain = await service.login(["users.read"]);
    expect((await theirs(plain.token, userId)).errors?.[0]?.message).toBe("Missing required permission: users.update");
    const admin = await service.login(["users.update"]);
    const made = await theirs(admin.token, userId);
    expect(made.data.createUserApiToken).toMatchObject({ userId, createdByUserId: admin.userId });
    expect((await service.ask(`{ me { id } }`, { token: made.data.createUserApiToken.token })).data.me.id).toBe(userId);
    expect((await theirs(admin.token, unknownId)).errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    await sql("update users set is_active = false where id = $1", [userId]);
    expect((await theirs(admin.token, userId)).errors?.[0]?.extensions.code).toBe("CONFLICT");
  });

  test("grants only what its maker holds, and names the rest", async () => {
    const owner = await service.login(["audit.read", "campaigns.read", "users.read"]);
    const admin = await service.login(["users.update", "campaigns.read", "orders.read"]);
    expect((await theirs(admin.token, owner.userId, { scopes: ["users.read", "campaigns.read"] })).errors?.[0]).toMatchObject({
      message: "You cannot grant what you do not hold: users.read",
      extensions: { code: "FORBIDDEN", permissionKeys: ["users.read"] },
    });
    expect((await theirs(admin.token, owner.userId)).errors?.[0]).toMatchObject({
      message: "You cannot grant what you do not hold: audit.read, users.read",
      extensions: { code: "FORBIDDEN" },
    });
    expect((await theirs(admin.token, owner.userId, { scopes: ["orders.read"] })).errors?.[0]).toMatchObject({
      message: "scopes: the token's owner does not hold orders.read",
      extensions: { code: "BAD_USER_INPUT" },
    });
    const made = await theirs(admin.token, owner.userId, { scopes: ["campaigns.read"] });
    expect(made.data.createUserApiToken).toMatchObject({ scopes: ["campaigns.read"], isScoped: true });
  });

  test("without limits never passes what its maker holds, though the owner is given more", async () => {
    const owner = await service.login(["campaigns.read"]);
    const admin = await service.login(["users.update", "campaigns.read"]);
    const made = (await theirs(admin.token, owner.userId)).data.createUserApiToken.token as string;
    // Nor does what it makes itself, though that is made in the owner's name.
    const next = (await mine(made)).data.createMyApiToken.token as string;
    const last = (await mine(next)).data.createMyApiToken.token as string;
    const own = (await mine(owner.token)).data.createMyApiToken.token as string;
    await giveRole(owner.userId, ["users.read"]);
    for (const token of [made, next, last]) {
      expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
      expect(await refusal(token, `{ users { id } }`)).toBe("Missing required permission: users.read");
    }
    expect(await refusal(own, `{ users { id } }`)).toBeUndefined();
  });
});

describe("An API token", () => {
  test("without limits holds what its owner holds at each request", async () => {
    const { token: session, userId, roleId } = await service.login(["campaigns.read"]);
    const { token } = (await mine(session)).data.createMyApiToken;
    expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
    expect(await refusal(token, `{ users { id } }`)).toBe("Missing required permission: users.read");
    await giveRole(userId, ["users.read"]);
    expect(await refusal(token, `{ users { id } }`)).toBeUndefined();
    await sql("delete from user_roles where role_id = $1", [roleId]);
    expect(await refusal(token, `{ campaigns { id } }`)).toBe("Missing required permission: campaigns.read");
  });

  test("with scopes holds those of them that its owner holds at each request", async () => {
    const { token: session, roleId } = await service.login(["campaigns.read", "users.read"]);
    const { token } = (await mine(session, { scopes: ["campaigns.read"] })).data.createMyApiToken;
    expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
    expect(await refusal(token, `{ users { id } }`)).toBe("Missing required permission: users.read");
    await sql("delete from role_permissions where role_id = $1", [roleId]);
    expect(await refusal(token, `{ campaigns { id } }`)).toBe("Missing required permission: campaigns.read");
  });

  test("with scopes is powerless, never unlimited, once their keys are gone", async () => {
    const { token: session, userId } = await service.login(["campaigns.read", "users.read"]);
    await sql("insert into permissions (key, description) values ('gone.soon', 'For this test')");
    await giveRole(userId, ["gone.soon"]);
    const { id, token } = (await mine(session, { scopes: ["gone.soon"] })).data.createMyApiToken;
    await sql("delete from permissions where key = 'gone.soon'");
    for (const scopes of [["gone.soon"], []]) {
      await sql("update api_tokens set scopes = $2 where id = $1", [id, scopes]);
      expect(await refusal(token, `{ users { id } }`)).toBe("Missing required permission: users.read");
      expect(await refusal(token, `{ campaigns { id } }`)).toBe("Missing required permission: campaigns.read");
      expect(await refusal(token, `{ mySessions { id } }`)).toMatch(/full login/);
      const list = await service.ask(`{ myApiTokens { isScoped } }`, { token: session });
      expect(list.data.myApiTokens).toEqual([{ isScoped: true }]);
    }
  });

  test("with scopes passes only plain permission guards, but `me` and `logout` work", async () => {
    const { token: session, userId } = await service.login(["users.read", "campaigns.read"]);
    const { token } = (await mine(session, { scopes: ["campaigns.read"] })).data.createMyApiToken;
    expect((await service.ask(`{ me { id } }`, { token })).data.me.id).toBe(userId);
    expect((await service.ask(`mutation { logout }`, { token })).data.logout).toBe(false);
    expect(await opens(token)).toBe(true);
    const fullLogin = "This needs a full login: a token narrowed to scopes does not suffice";
    expect(await refusal(token, `{ myApiTokens { id } }`)).toBe(fullLogin);
    expect(await refusal(token, `{ mySessions { id } }`)).toBe(fullLogin);
    expect(await refusal(token, `query ($id: ID!) { user(id: $id) { id } }`, { id: userId })).toBe(
      "Missing required permission: users.read",
    );
    expect(await refusal(token, `mutation ($id: ID!) { updateUser(id: $id, input: {name: "New"}) { id } }`, { id: userId })).toBe(
      "Missing required permission: users.update",
    );
  });

  test("ends with its time, with its revocation, and for good with its owner's deactivation", async () => {
    const admin = await service.login(["users.update"]);
    const { token: session, userId } = await service.login([]);
    const [expired, revoked, live] = [
      (await mine(session)).data.createMyApiToken,
      (await mine(session)).data.createMyApiToken,
      (await mine(session)).data.createMyApiToken,
    ];
    for (const { token } of [expired, revoked, live]) expect(await opens(token)).toBe(true);
    await sql("update api_tokens set expires_at = now() where id = $1", [expired.id]);
    expect(await opens(expired.token)).toBe(false);
    expect((await revoke(session, revoked.id)).data.revokeApiToken).toBe(true);
    expect(await opens(revoked.token)).toBe(false);

    const set = (field: string) =>
      service.ask(`mutation ($id: ID!) { ${field}(userId: $id) { id } }`, { token: admin.token, variables: { id: userId } });
    await set("deactivateUser");
    expect(await opens(live.token)).toBe(false);
    await set("activateUser");
    for (const { token } of [expired, revoked, live]) expect(await opens(token)).toBe(false);
    expect(await opens(session)).toBe(false);
  });

  test("ends with its owner's deactivation in the database itself, too", async () => {
    const { token: session, userId } = await service.login([]);
    const { token } = (await mine(session)).data.createMyApiToken;
    await sql("update users set is_active = false where id = $1", [userId]);
    await sql("update users set is_active = true where id = $1", [userId]);
    expect([await opens(token), await opens(session)]).toEqual([false, false]);
  });

  test("has its last use noted once a minute at most, and not in the audit log", async () => {
    const { token: session } = await service.login([]);
    const { id, token } = (await mine(session)).data.createMyApiToken;
    const lastUsed = async () =>
      (await sql<{ last_used_at: Date | null }>("select last_used_at from api_tokens where id = $1", [id]))[0]?.last_used_at;
    expect(await lastUsed()).toBeNull();
    await opens(token);
    const first = await lastUsed();
    expect(first).toBeInstanceOf(Date);
    await opens(token);
    expect(await lastUsed()).toEqual(first);
    await sql("update api_tokens set last_used_at = now() - interval '61 seconds' where id = $1", [id]);
    await opens(token);
    expect((await lastUsed())?.getTime()).toBeGreaterThan(first?.getTime() ?? Infinity);
    expect(await sql("select from audit_log where entity_id = $1 and operation = 'UPDATE'", [id])).toEqual([]);
  });
});

describe("Making tokens with a token", () => {
  test("narrowed to scopes works within its own scopes only, and never without limits", async () => {
    const { token: session, userId } = await service.login(["users.update", "users.read", "campaigns.read"]);
    const { id, token } = (await mine(session, { scopes: ["users.update", "campaigns.read"] })).data.createMyApiToken;
    const child = await mine(token, { scopes: ["campaigns.read"] });
    expect(child.data.createMyApiToken).toMatchObject({ scopes: ["campaigns.read"], userId, createdByTokenId: id });
    expect((await theirs(token, userId, { scopes: ["campaigns.read"] })).errors).toBeUndefined();
    for (const attempt of [mine(token), theirs(token, userId)])
      expect((await attempt).errors?.[0]).toMatchObject({
        message: "A token narrowed to scopes cannot make one without limits: name its scopes",
        extensions: { code: "FORBIDDEN" },
      });
    for (const attempt of [
      mine(token, { scopes: ["campaigns.read", "users.read"] }),
      theirs(token, userId, { scopes: ["campaigns.read", "users.read"] }),
    ])
      expect((await attempt).errors?.[0]).toMatchObject({
        message: "You cannot grant what you do not hold: users.read",
        extensions: { code: "FORBIDDEN" },
      });
    for (const scopes of [[], null])
      expect((await mine(token, { scopes })).errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  });

  test("makes none that outlives it", async () => {
    const { token: session } = await service.login(["campaigns.read"]);
    const expiresAt = new Date(Date.now() + 7 * day).toISOString();
    const { token } = (await mine(session, { expiresAt })).data.createMyApiToken;
    expect((await mine(token)).data.createMyApiToken.expiresAt).toBe(expiresAt);
    const late = new Date(Date.now() + 8 * day).toISOString();
    expect((await mine(token, { expiresAt: late })).errors?.[0]?.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["input", "expiresAt"],
    });
  });

  test("ends them when it is revoked, also while it is making them", async () => {
    const { token: session, userId } = await service.login(["campaigns.read"]);
    for (let round = 0; round < 10; round++) {
      const parent = (await mine(session)).data.createMyApiToken;
      const child = (await mine(parent.token)).data.createMyApiToken;
      await Promise.all([
        mine(parent.token),
        mine(child.token),
        revoke(session, parent.id),
        mine(child.token),
        mine(parent.token),
      ]);
      expect(await sql("select from api_tokens where user_id = $1 and revoked_at is null", [userId])).toEqual([]);
      expect(await opens(child.token)).toBe(false);
    }
    expect(await opens(session)).toBe(true);
  });
});

describe("Revoking and listing API tokens", () => {
  test("is for their owner, and for whoever holds users.update", async () => {
    const owner = await service.login([]);
    const other = await service.login(["users.read"]);
    const admin = await service.login(["users.update"]);
    const first = (await mine(owner.token, { name: "first" })).data.createMyApiToken;
    const second = (await mine(owner.token, { name: "second" })).data.createMyApiToken;
    const missing = "Missing required permission: users.update";
    for (const id of [first.id, unknownId])
      expect((await revoke(other.token, id)).errors?.[0]?.message).toBe(missing);
    expect((await revoke(admin.token, unknownId)).errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    expect((await revoke(admin.token, first.id)).data.revokeApiToken).toBe(true);
    expect((await revoke(admin.token, first.id)).data.revokeApiToken).toBe(true);

    const list = `query ($id: ID!) { userApiTokens(userId: $id) { name token revokedAt } }`;
    expect(await refusal(other.token, list, { id: owner.userId })).toBe(missing);
    const seen = await service.ask(list, { token: admin.token, variables: { id: owner.userId } });
    expect(seen.data.userApiTokens).toEqual([
      { name: "second", token: null, revokedAt: null },
      { name: "first", token: null, revokedAt: expect.any(String) },
    ]);
    const own = await service.ask(`{ myApiTokens { id } }`, { token: owner.token });
    expect(own.data.myApiTokens).toEqual([{ id: second.id }, { id: first.id }]);
    expect((await service.ask(`{ myApiTokens { id } }`, { token: admin.token })).data.myApiTokens).toEqual([]);
  });

  test("with a token narrowed to scopes needs users.update, for one's own too", async () => {
    const { token: session, userId } = await service.login(["users.update", "campaigns.read"]);
    const target = (await mine(session)).data.createMyApiToken;
    const narrow = await insertApiToken(service.database, userId, ["campaigns.read"]);
    for (const id of [target.id, narrow.tokenId])
      expect((await revoke(narrow.token, id)).errors?.[0]?.message).toBe("Missing required permission: users.update");
    const wide = await insertApiToken(service.database, userId, ["users.update"]);
    expect((await revoke(wide.token, target.id)).data.revokeApiToken).toBe(true);
  });

  test("is in the audit log, reads too", async () => {
    const { token, userId } = await service.login([]);
    const { id } = (await mine(token)).data.createMyApiToken;
    await service.ask(`query Tokens { myApiTokens { id } }`, { token });
    await revoke(token, id);
    const rows = await sql(
      `select operation, entity_id, after ? 'revokedAt' as revoked, metadata ->> 'field' as field
       from audit_log where actor_user_id = $1 and entity_type = 'ApiToken' order by created_at, id`,
      [userId],
    );
    expect(rows).toEqual([
      { operation: "CREATE", entity_id: id, revoked: false, field: null },
      { operation: "READ", entity_id: null, revoked: null, field: "myApiTokens" },
      { operation: "UPDATE", entity_id: id, revoked: true, field: null },
    ]);
  });

  test("leaves no trace of tokens that ended long ago but in the audit log", async () => {
    const { token: session, userId } = await service.login([]);
    const old = await insertApiToken(service.database, userId);
    await insertApiToken(service.database, userId);
    await sql("update api_tokens set revoked_at = now() - interval '91 days' where id = $1", [old.tokenId]);
    await sql("select remove_old_sessions()");
    expect((await service.ask(`{ myApiTokens { id } }`, { token: session })).data.myApiTokens).toHaveLength(1);
  });
});
