import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";
import { day, tokenRequests } from "../helpers/graphql/tokenRequests.ts";

let service: Service;
const { sql, mine, theirs, revoke, opens, refusal, giveRole } = tokenRequests(() => service);

beforeAll(async () => {
  service = await startService();
  // A deactivation requires a remaining Superadmin.
  await service.ask(`mutation { bootstrapFirstUser(email: "first@example.com") { token } }`);
});
afterAll(async () => {
  await service.stop();
});

describe("an API token", () => {
  test("without scopes has its owner's current permissions", async () => {
    const { token: session, userId, roleId } = await service.login(["campaigns.read"]);
    const { token } = (await mine(session)).data.createMyApiToken;
    expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
    expect(await refusal(token, `{ users { id } }`)).toBe(
      "Missing required permission: users.read",
    );
    await giveRole(userId, ["users.read"]);
    expect(await refusal(token, `{ users { id } }`)).toBeUndefined();
    await sql("delete from user_roles where role_id = $1", [roleId]);
    expect(await refusal(token, `{ campaigns { id } }`)).toBe(
      "Missing required permission: campaigns.read",
    );
  });

  test("with scopes has those of them that its owner currently has", async () => {
    const { token: session, roleId } = await service.login(["campaigns.read", "users.read"]);
    const { token } = (await mine(session, { scopes: ["campaigns.read"] })).data.createMyApiToken;
    expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
    expect(await refusal(token, `{ users { id } }`)).toBe(
      "Missing required permission: users.read",
    );
    await sql("delete from role_permissions where role_id = $1", [roleId]);
    expect(await refusal(token, `{ campaigns { id } }`)).toBe(
      "Missing required permission: campaigns.read",
    );
  });

  test("with scopes has no permission after their keys are deleted", async () => {
    const { token: session, userId } = await service.login(["campaigns.read", "users.read"]);
    await sql("insert into permissions (key, description) values ('gone.soon', 'For this test')");
    await giveRole(userId, ["gone.soon"]);
    const { id, token } = (await mine(session, { scopes: ["gone.soon"] })).data.createMyApiToken;
    await sql("delete from permissions where key = 'gone.soon'");
    for (const scopes of [["gone.soon"], []]) {
      await sql("update api_tokens set scopes = $2 where id = $1", [id, scopes]);
      expect(await refusal(token, `{ users { id } }`)).toBe(
        "Missing required permission: users.read",
      );
      expect(await refusal(token, `{ campaigns { id } }`)).toBe(
        "Missing required permission: campaigns.read",
      );
      expect(await refusal(token, `{ mySessions { id } }`)).toMatch(/full login/);
      const list = await service.ask(`{ myApiTokens { isScoped } }`, { token: session });
      expect(list.data.myApiTokens).toEqual([{ isScoped: true }]);
    }
  });

  test("with scopes passes only plain permission guards, and can use `me` and `logout`", async () => {
    const { token: session, userId } = await service.login(["users.read", "campaigns.read"]);
    const { token } = (await mine(session, { scopes: ["campaigns.read"] })).data.createMyApiToken;
    expect((await service.ask(`{ me { id } }`, { token })).data.me.id).toBe(userId);
    expect((await service.ask(`mutation { logout }`, { token })).data.logout).toBe(true);
    expect(await opens(token)).toBe(true);
    const fullLogin = "This needs a full login: a scoped token is not enough";
    expect(await refusal(token, `{ myApiTokens { id } }`)).toBe(fullLogin);
    expect(await refusal(token, `{ mySessions { id } }`)).toBe(fullLogin);
    expect(await refusal(token, `query ($id: ID!) { user(id: $id) { id } }`, { id: userId })).toBe(
      "Missing required permission: users.read",
    );
    expect(
      await refusal(
        token,
        `mutation ($id: ID!) { updateUser(id: $id, input: {name: "New"}) { id } }`,
        { id: userId },
      ),
    ).toBe(fullLogin);
  });

  test.each([
    ["name", { name: "New" }],
    ["picture", { avatarUrl: null }],
    ["roles", { roleIds: [] }],
    ["department", { departmentId: null }],
    ["nothing", {}],
  ])("scoped to users.update cannot change its owner: %s", async (_what, input) => {
    const { token: session, userId } = await service.login(["users.read", "users.update"]);
    const { token } = (await mine(session, { scopes: ["users.read", "users.update"] })).data
      .createMyApiToken;
    const update = (credential: string, id: string) =>
      service.ask(
        `mutation ($id: ID!, $input: UpdateUserInput!) { updateUser(id: $id, input: $input) { id } }`,
        {
          token: credential,
          variables: { id, input },
        },
      );
    expect((await update(token, userId)).errors).toMatchObject([
      {
        message: "This needs a full login: a scoped token is not enough",
        path: ["updateUser"],
        extensions: { code: "FORBIDDEN" },
      },
    ]);
    const other = await service.login([]);
    expect((await update(token, other.userId)).errors).toBeUndefined();
    const { token: unscoped } = (await mine(session)).data.createMyApiToken;
    expect((await update(unscoped, userId)).errors).toBeUndefined();
  });

  test("ends by expiry, by revocation, and permanently by its owner's deactivation", async () => {
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
      service.ask(`mutation ($id: ID!) { ${field}(userId: $id) { id } }`, {
        token: admin.token,
        variables: { id: userId },
      });
    await set("deactivateUser");
    expect(await opens(live.token)).toBe(false);
    await set("activateUser");
    for (const { token } of [expired, revoked, live]) expect(await opens(token)).toBe(false);
    expect(await opens(session)).toBe(false);
  });

  test("ends by a deactivation of its owner in the database", async () => {
    const { token: session, userId } = await service.login([]);
    const { token } = (await mine(session)).data.createMyApiToken;
    await sql("update users set is_active = false where id = $1", [userId]);
    await sql("update users set is_active = true where id = $1", [userId]);
    expect([await opens(token), await opens(session)]).toEqual([false, false]);
  });

  test("stores its last use once a minute at most, and not in the audit log", async () => {
    const { token: session } = await service.login([]);
    const { id, token } = (await mine(session)).data.createMyApiToken;
    const lastUsed = async () =>
      (
        await sql<{ last_used_at: Date | null }>(
          "select last_used_at from api_tokens where id = $1",
          [id],
        )
      )[0]?.last_used_at;
    expect(await lastUsed()).toBeNull();
    await opens(token);
    const first = await lastUsed();
    expect(first).toBeInstanceOf(Date);
    await opens(token);
    expect(await lastUsed()).toEqual(first);
    await sql("update api_tokens set last_used_at = now() - interval '61 seconds' where id = $1", [
      id,
    ]);
    await opens(token);
    expect((await lastUsed())?.getTime()).toBeGreaterThan(first?.getTime() ?? Infinity);
    expect(
      await sql("select from audit_log where entity_id = $1 and operation = 'UPDATE'", [id]),
    ).toEqual([]);
  });
});

describe("revokeCurrentApiToken", () => {
  const end = "mutation { revokeCurrentApiToken }";
  const revokeWith = (token: string | null, headers: Record<string, string> = {}) =>
    service.ask(end, { token, headers });

  test.each([
    ["scoped", ["campaigns.read"]],
    ["unscoped", undefined],
  ])("revokes a %s token and the tokens created with it, and no other", async (_kind, scopes) => {
    const { token: session, userId } = await service.login(["campaigns.read"]);
    const { token, id } = (await mine(session, { scopes })).data.createMyApiToken;
    const { token: child } = (await mine(token, { scopes })).data.createMyApiToken;
    const { token: other } = (await mine(session, { scopes })).data.createMyApiToken;
    const answer = await revokeWith(token);
    expect([answer.errors, answer.data]).toEqual([undefined, { revokeCurrentApiToken: true }]);
    expect([await opens(token), await opens(child)]).toEqual([false, false]);
    expect([await opens(other), await opens(session)]).toEqual([true, true]);
    expect(
      await sql(
        `select actor_user_id, operation, metadata ->> 'tokenId' as token from audit_log
          where entity_type = 'ApiToken' and entity_id = $1 and after ? 'revokedAt'`,
        [id],
      ),
    ).toEqual([{ actor_user_id: userId, operation: "UPDATE", token: id }]);
  });

  test.each([
    ["without", {}],
    ["with", { "Idempotency-Key": "leaked-token" }],
  ])("rejects a repetition %s an idempotency key like any ended token", async (_how, headers) => {
    const { token: session } = await service.login([]);
    const { token } = (await mine(session)).data.createMyApiToken;
    expect((await revokeWith(token, headers)).data).toEqual({ revokeCurrentApiToken: true });
    expect((await revokeWith(token, headers)).errors).toMatchObject([
      { extensions: { code: "UNAUTHENTICATED" } },
    ]);
  });

  test("creates no token in an operation that revokes the token itself", async () => {
    const { token: session } = await service.login([]);
    const { token } = (await mine(session)).data.createMyApiToken;
    const both = `mutation { revokeCurrentApiToken createMyApiToken(input: {name: "late"}) { token } }`;
    expect((await service.ask(both, { token })).errors).toMatchObject([
      { path: ["createMyApiToken"], extensions: { code: "UNAUTHENTICATED" } },
    ]);
  });

  test("rejects sessions, which it does not end, and callers without a login", async () => {
    const { token: session } = await service.login([]);
    expect((await revokeWith(session)).errors).toMatchObject([
      {
        message:
          "This needs an API token: a session ends by `logout`, another token by `revokeApiToken`",
        extensions: { code: "FORBIDDEN" },
      },
    ]);
    expect(await opens(session)).toBe(true);
    expect((await revokeWith(null)).errors).toMatchObject([
      { extensions: { code: "UNAUTHENTICATED" } },
    ]);
  });
});

describe("creating tokens with a token", () => {
  test("with scopes works within its own scopes only", async () => {
    const { token: session, userId } = await service.login([
      "users.update",
      "users.read",
      "campaigns.read",
    ]);
    const { id, token } = (await mine(session, { scopes: ["users.update", "campaigns.read"] })).data
      .createMyApiToken;
    const child = await mine(token, { scopes: ["campaigns.read"] });
    expect(child.data.createMyApiToken).toMatchObject({
      scopes: ["campaigns.read"],
      userId,
      createdByTokenId: id,
    });
    expect((await theirs(token, userId, { scopes: ["campaigns.read"] })).errors).toBeUndefined();
    for (const attempt of [mine(token), theirs(token, userId)])
      expect((await attempt).errors?.[0]).toMatchObject({
        message: "A scoped token cannot make a token without scopes: name its scopes",
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

  test("creates none that expires later", async () => {
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

  test("revokes them with it, also during their creation", async () => {
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
      expect(
        await sql("select from api_tokens where user_id = $1 and revoked_at is null", [userId]),
      ).toEqual([]);
      expect(await opens(child.token)).toBe(false);
    }
    expect(await opens(session)).toBe(true);
  });
});
