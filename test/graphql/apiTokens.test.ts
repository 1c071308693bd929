import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashToken } from "../../src/auth/tokens.ts";
import { type Service, startService } from "../helpers/service.ts";
import { createMine, day, unknownId, tokenRequests } from "../helpers/graphql/tokenRequests.ts";

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

describe("creating an API token", () => {
  test("shows the secret once and stores only its hash", async () => {
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
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeGreaterThanOrEqual(
      365 * day,
    );
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBeLessThanOrEqual(366 * day);

    const list = await service.ask(`{ myApiTokens { id token } }`, { token });
    expect(list.data.myApiTokens).toEqual([{ id: made.id, token: null }]);
    expect(await sql("select token_hash from api_tokens where id = $1", [made.id])).toEqual([
      { token_hash: hashToken(made.token) },
    ]);
    const written = JSON.stringify(await sql("select * from audit_log")) + service.output();
    expect(written).not.toContain(made.token);
    expect(written).not.toContain(hashToken(made.token).toString("hex"));
    expect(
      await sql(
        "select after from audit_log where entity_type = 'ApiToken' and entity_id = $1 and operation <> 'READ'",
        [made.id],
      ),
    ).toEqual([{ after: expect.not.objectContaining({ tokenHash: expect.anything() }) }]);
  });

  test("returns a different secret for each of several in one operation", async () => {
    const { token } = await service.login([]);
    const { data } = await service.ask(
      `mutation { a: createMyApiToken(input: {name: "a"}) { token name } b: createMyApiToken(input: {name: "b"}) { token name } }`,
      { token },
    );
    expect([data.a.name, data.b.name]).toEqual(["a", "b"]);
    expect(data.a.token).not.toBe(data.b.token);
    expect(await opens(data.a.token)).toBe(true);
    expect(await opens(data.b.token)).toBe(true);
  });

  test("limits it to scopes, without duplicates", async () => {
    const { token } = await service.login(["campaigns.read", "users.read"]);
    const { data } = await mine(token, { scopes: ["users.read", "campaigns.read", "users.read"] });
    expect(data.createMyApiToken).toMatchObject({
      scopes: ["campaigns.read", "users.read"],
      isScoped: true,
    });
  });

  test.each([
    ["no scopes at all", { scopes: [] }, /^scopes must name at least one permission/, "scopes"],
    [
      "scopes that are null",
      { scopes: null },
      /^scopes must name at least one permission/,
      "scopes",
    ],
    [
      "limits and no scopes",
      { isScoped: true },
      "scopes must name at least one permission, or isScoped must be false",
      "scopes",
    ],
    [
      "scopes and no limits",
      { isScoped: false, scopes: ["campaigns.read"] },
      "scopes limit the token: leave them out, or set isScoped to true",
      "scopes",
    ],
    [
      "unknown scopes",
      { scopes: ["campaigns.read", "wine.drink", "all"] },
      "scopes: there are no permissions all, wine.drink",
      "scopes",
    ],
    ["a blank name", { name: "  " }, /^name must be 1 to 100 visible characters/, "name"],
    ["a long name", { name: "x".repeat(101) }, /^name must be 1 to 100 visible characters/, "name"],
    [
      "an end in the past",
      { expiresAt: "2020-01-01T00:00:00Z" },
      "expiresAt must lie in the future",
      "expiresAt",
    ],
    [
      "an end far away",
      { expiresAt: new Date(Date.now() + 5.1 * 365.25 * day).toISOString() },
      "expiresAt must lie within five years",
      "expiresAt",
    ],
  ])("is rejected with %s", async (_what, input, message, field) => {
    const { token, userId } = await service.login(["campaigns.read"]);
    const { errors } = await mine(token, input);
    expect(errors).toMatchObject([
      { extensions: { code: "BAD_USER_INPUT", path: ["input", field] } },
    ]);
    expect(errors?.[0]?.message).toEqual(
      message instanceof RegExp ? expect.stringMatching(message) : message,
    );
    expect(await sql("select from api_tokens where user_id = $1", [userId])).toEqual([]);
  });

  test("is rejected with scopes that the caller does not hold, and names them", async () => {
    const { token, userId } = await service.login(["campaigns.read"]);
    const scopes = ["audit.read", "campaigns.read", "users.read"];
    expect((await mine(token, { scopes })).errors).toMatchObject([
      {
        message: "You cannot grant what you do not hold: audit.read, users.read",
        extensions: { code: "FORBIDDEN", permissionKeys: ["audit.read", "users.read"] },
      },
    ]);
    expect(await sql("select from api_tokens where user_id = $1", [userId])).toEqual([]);
  });

  test("is rejected without a login, and above a hundred active tokens", async () => {
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

describe("creating an API token for another user", () => {
  test("needs users.update and an active user", async () => {
    const { userId } = await service.login([]);
    const plain = await service.login(["users.read"]);
    expect((await theirs(plain.token, userId)).errors?.[0]?.message).toBe(
      "Missing required permission: users.update",
    );
    const admin = await service.login(["users.update"]);
    const made = await theirs(admin.token, userId);
    expect(made.data.createUserApiToken).toMatchObject({ userId, createdByUserId: admin.userId });
    expect(
      (await service.ask(`{ me { id } }`, { token: made.data.createUserApiToken.token })).data.me
        .id,
    ).toBe(userId);
    expect((await theirs(admin.token, unknownId)).errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    await sql("update users set is_active = false where id = $1", [userId]);
    expect((await theirs(admin.token, userId)).errors?.[0]?.extensions.code).toBe("CONFLICT");
  });

  test("grants only permissions of its creator, and names the others", async () => {
    const owner = await service.login(["audit.read", "campaigns.read", "users.read"]);
    const admin = await service.login(["users.update", "campaigns.read", "orders.read"]);
    expect(
      (await theirs(admin.token, owner.userId, { scopes: ["users.read", "campaigns.read"] }))
        .errors?.[0],
    ).toMatchObject({
      message: "You cannot grant what you do not hold: users.read",
      extensions: { code: "FORBIDDEN", permissionKeys: ["users.read"] },
    });
    expect((await theirs(admin.token, owner.userId)).errors?.[0]).toMatchObject({
      message: "You cannot grant what you do not hold: audit.read, users.read",
      extensions: { code: "FORBIDDEN" },
    });
    expect(
      (await theirs(admin.token, owner.userId, { scopes: ["orders.read"] })).errors?.[0],
    ).toMatchObject({
      message: "scopes: the token's owner does not hold orders.read",
      extensions: { code: "BAD_USER_INPUT" },
    });
    const made = await theirs(admin.token, owner.userId, { scopes: ["campaigns.read"] });
    expect(made.data.createUserApiToken).toMatchObject({
      scopes: ["campaigns.read"],
      isScoped: true,
    });
  });

  test("without scopes never exceeds its creator's permissions, even when its owner gets more", async () => {
    const owner = await service.login(["campaigns.read"]);
    const admin = await service.login(["users.update", "campaigns.read"]);
    const made = (await theirs(admin.token, owner.userId)).data.createUserApiToken.token as string;
    // Tokens that it creates are limited too, although they belong to the owner.
    const next = (await mine(made)).data.createMyApiToken.token as string;
    const last = (await mine(next)).data.createMyApiToken.token as string;
    const own = (await mine(owner.token)).data.createMyApiToken.token as string;
    await giveRole(owner.userId, ["users.read"]);
    for (const token of [made, next, last]) {
      expect(await refusal(token, `{ campaigns { id } }`)).toBeUndefined();
      expect(await refusal(token, `{ users { id } }`)).toBe(
        "Missing required permission: users.read",
      );
    }
    expect(await refusal(own, `{ users { id } }`)).toBeUndefined();
  });
});
