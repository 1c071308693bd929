import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import { unknownId, tokenRequests } from "../helpers/graphql/tokenRequests.ts";

let service: Service;
const { sql, mine, revoke, refusal } = tokenRequests(() => service);

beforeAll(async () => {
  service = await startService();
  // A deactivation requires a remaining Superadmin.
  await service.ask(`mutation { bootstrapFirstUser(email: "first@example.com") { token } }`);
});
afterAll(async () => {
  await service.stop();
});

describe("revoking and listing API tokens", () => {
  test("is allowed for their owner and for holders of users.update", async () => {
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
    expect(
      (await service.ask(`{ myApiTokens { id } }`, { token: admin.token })).data.myApiTokens,
    ).toEqual([]);
  });

  test("in the list, shows the caller's tokens, and to holders of users.update those of everybody", async () => {
    const list = `{ apiTokens { name userId user { id } createdBy { id } createdTokens { nodes { name } } } }`;
    const owner = await service.login([]);
    const admin = await service.login(["users.update"]);
    const { token } = (await mine(owner.token, { name: "parent" })).data.createMyApiToken;
    await mine(token, { name: "child" });
    const row = (name: string, children: string[]) => ({
      name,
      userId: owner.userId,
      user: { id: owner.userId },
      createdBy: { id: owner.userId },
      createdTokens: { nodes: children.map((child) => ({ name: child })) },
    });
    const rows = [row("child", []), row("parent", ["child"])];
    expect((await service.ask(list, { token: owner.token })).data.apiTokens).toEqual(rows);
    expect((await service.ask(list, { token })).data.apiTokens).toEqual(rows);
    const all = (await service.ask(list, { token: admin.token })).data.apiTokens;
    expect(all).toEqual(expect.arrayContaining(rows));
    const stranger = await service.login(["users.read"]);
    expect((await service.ask(list, { token: stranger.token })).data.apiTokens).toEqual([]);
    const scoped = await insertApiToken(service.database, admin.userId, ["users.update"]);
    expect(await refusal(scoped.token, list)).toMatch(/^This needs a full login/);
  });

  test("with a scoped token needs users.update, also for the owner's tokens", async () => {
    const { token: session, userId } = await service.login(["users.update", "campaigns.read"]);
    const target = (await mine(session)).data.createMyApiToken;
    const narrow = await insertApiToken(service.database, userId, ["campaigns.read"]);
    for (const id of [target.id, narrow.tokenId])
      expect((await revoke(narrow.token, id)).errors?.[0]?.message).toBe(
        "Missing required permission: users.update",
      );
    const wide = await insertApiToken(service.database, userId, ["users.update", "campaigns.read"]);
    expect((await revoke(wide.token, target.id)).data.revokeApiToken).toBe(true);
  });

  test("is in the audit log, including reads", async () => {
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
      // The mutation's response contained it.
      { operation: "READ", entity_id: id, revoked: null, field: null },
      { operation: "READ", entity_id: null, revoked: null, field: "myApiTokens" },
      { operation: "UPDATE", entity_id: id, revoked: true, field: null },
    ]);
  });

  test("omits tokens that ended long ago, which only the audit log keeps", async () => {
    const { token: session, userId } = await service.login([]);
    const old = await insertApiToken(service.database, userId);
    await insertApiToken(service.database, userId);
    await sql("update api_tokens set revoked_at = now() - interval '91 days' where id = $1", [
      old.tokenId,
    ]);
    await sql("select remove_old_sessions()");
    expect(
      (await service.ask(`{ myApiTokens { id } }`, { token: session })).data.myApiTokens,
    ).toHaveLength(1);
  });
});
