import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService, startServerProcess } from "../helpers/service.ts";

const hour = 60 * 60 * 1000;
const unknownId = "00000000-0000-7000-8000-000000000000";
const fields = "id createdAt lastUsedAt expiresAt ipAddress userAgent current";

let service: Service;
/** A second server process on the same database. */
let sibling: Service;

beforeAll(async () => {
  service = await startService();
  sibling = await startServerProcess({ database: service.database });
  // A deactivation requires a remaining Superadmin.
  await service.ask(`mutation { bootstrapFirstUser(email: "first@example.com") { token } }`);
});
afterAll(async () => {
  await sibling.stop();
  await service.stop();
});

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

async function devLogin(userId: string, userAgent = "jest"): Promise<string> {
  const [user] = await sql<{ email: string }>("select email from users where id = $1", [userId]);
  const { data } = await service.ask(`mutation ($e: String!) { devLogin(email: $e) { token } }`, {
    variables: { e: user?.email },
    headers: { "user-agent": userAgent },
  });
  return data.devLogin.token;
}

const opens = async (token: string, at = service) =>
  (await at.ask(`{ me { id } }`, { token })).data.me !== null;
const mine = async (token: string) =>
  (await service.ask(`{ mySessions { ${fields} } }`, { token })).data.mySessions;
const revoke = (token: string, id: string, at = service) =>
  at.ask(`mutation ($id: ID!) { revokeSession(id: $id) }`, { token, variables: { id } });

describe("a session", () => {
  test("is listed among the active ones of its user, newest first, without a secret", async () => {
    const { userId, token: first } = await service.login([]);
    await service.login([]);
    const second = await devLogin(userId, "Firefox");
    const third = await devLogin(userId);
    await service.ask(`mutation { logout }`, { token: third });
    const sessions = await mine(second);
    expect(sessions).toMatchObject([
      { current: true, userAgent: "Firefox", ipAddress: "127.0.0.1" },
      { current: false, userAgent: null },
    ]);
    expect((await mine(first)).map((session: { current: boolean }) => session.current)).toEqual([
      false,
      true,
    ]);
    expect(Date.parse(sessions[0].expiresAt) - Date.parse(sessions[0].createdAt)).toBe(24 * hour);
  });

  test("extends its idle timeout with use, once a minute at most, up to its maximum lifetime", async () => {
    const { userId } = await service.login([]);
    const token = await devLogin(userId);
    const [session] = await mine(token);
    const ends = async () => Date.parse((await mine(token))[0].expiresAt);
    const move = (text: string) => sql(`update sessions set ${text} where id = $1`, [session.id]);

    await move(
      "idle_expires_at = now() + interval '1 hour', last_used_at = now() - interval '30 seconds'",
    );
    expect(await ends()).toBeLessThan(Date.now() + 1.1 * hour);
    await move("last_used_at = now() - interval '61 seconds'");
    expect(await ends()).toBeGreaterThan(Date.now() + 23.9 * hour);
    await move(
      "expires_at = now() + interval '2 hours', last_used_at = now() - interval '61 seconds'",
    );
    expect(await ends()).toBeLessThan(Date.now() + 2.1 * hour);

    await move("idle_expires_at = now()");
    expect(await opens(token)).toBe(false);
    await move("idle_expires_at = now() + interval '1 hour'");
    expect(await opens(token)).toBe(true);
    await move("expires_at = now()");
    expect(await opens(token)).toBe(false);
  });

  test("has a maximum lifetime of fourteen days", async () => {
    const { userId } = await service.login([]);
    await devLogin(userId);
    const rows = await sql(
      "select expires_at - created_at = interval '14 days' as kept from sessions where user_id = $1 order by id desc limit 1",
      [userId],
    );
    expect(rows).toEqual([{ kept: true }]);
  });

  test("is not marked as current for an API token, and an unscoped token sees the list", async () => {
    const { userId, token: session } = await service.login([]);
    const { token } = await insertApiToken(service.database, userId);
    expect(await mine(token)).toMatchObject([{ current: false }]);
    expect(await mine(session)).toMatchObject([{ current: true }]);
    expect((await service.ask(`mutation { logout }`, { token })).data.logout).toBe(true);
    expect(await opens(token)).toBe(true);
    expect(await opens(session)).toBe(true);
  });
});

describe("revoking a session", () => {
  test("is allowed for its user and for holders of users.update", async () => {
    const owner = await service.login([]);
    const other = await service.login(["users.read"]);
    const admin = await service.login(["users.update"]);
    const [session] = await mine(owner.token);
    const missing = "Missing required permission: users.update";
    for (const id of [session.id, unknownId])
      expect((await revoke(other.token, id)).errors?.[0]?.message).toBe(missing);
    expect((await revoke(admin.token, unknownId)).errors?.[0]?.extensions.code).toBe("NOT_FOUND");
    expect(
      (await service.ask(`mutation { revokeSession(id: "${session.id}") }`)).errors?.[0]?.extensions
        .code,
    ).toBe("UNAUTHENTICATED");

    const second = await devLogin(owner.userId);
    expect((await revoke(second, session.id)).data.revokeSession).toBe(true);
    expect([await opens(owner.token), await opens(second)]).toEqual([false, true]);

    const list = `query ($id: ID!) { userSessions(userId: $id) { id current } }`;
    const variables = { id: owner.userId };
    expect((await service.ask(list, { token: other.token, variables })).errors?.[0]?.message).toBe(
      missing,
    );
    const [seen] = (await service.ask(list, { token: admin.token, variables })).data.userSessions;
    expect(seen.current).toBe(false);
    expect((await revoke(admin.token, seen.id)).data.revokeSession).toBe(true);
    expect((await revoke(admin.token, seen.id)).data.revokeSession).toBe(true);
    expect(await opens(second)).toBe(false);
  });

  test("with a scoped token needs users.update, also for the owner's sessions", async () => {
    const { userId, token } = await service.login(["users.update", "campaigns.read"]);
    const [session] = await mine(token);
    const narrow = await insertApiToken(service.database, userId, ["campaigns.read"]);
    expect((await revoke(narrow.token, session.id)).errors?.[0]?.message).toBe(
      "Missing required permission: users.update",
    );
    expect(await opens(token)).toBe(true);
    const wide = await insertApiToken(service.database, userId, ["users.update", "campaigns.read"]);
    expect((await revoke(wide.token, session.id)).data.revokeSession).toBe(true);
    expect(await opens(token)).toBe(false);
  });

  test("is in the audit log, like the login, without the token's hash", async () => {
    const { userId } = await service.login([]);
    const token = await devLogin(userId);
    const [session] = await mine(token);
    await revoke(token, session.id);
    const rows = await sql<{ operation: string; actor_user_id: string; after: object }>(
      "select operation, actor_user_id, after from audit_log where entity_type = 'Session' and entity_id = $1 order by created_at, id",
      [session.id],
    );
    expect(rows).toMatchObject([
      { operation: "CREATE", actor_user_id: userId, after: { userId } },
      { operation: "UPDATE", actor_user_id: userId, after: { endedAt: expect.any(String) } },
    ]);
    for (const { after } of rows) expect(after).not.toHaveProperty("tokenHash");
  });
});

describe("two server processes", () => {
  test("apply changes and revocations of the other at the next request", async () => {
    const admin = await service.login(["users.update", "campaigns.read"]);
    const { userId, roleId } = await service.login(["campaigns.read"]);
    const stale: string[] = [];
    const expectSame = (what: string, seen: boolean, wanted: boolean) => {
      if (seen !== wanted) stale.push(`${what}: ${seen}, not ${wanted}`);
    };
    const set = (field: string, at: Service) =>
      at.ask(`mutation ($id: ID!) { ${field}(userId: $id) { id } }`, {
        token: admin.token,
        variables: { id: userId },
      });
    const setRoles = (roleIds: string[], at: Service) =>
      at.ask(
        `mutation ($id: ID!, $roleIds: [ID!]!) { updateUser(id: $id, input: {roleIds: $roleIds}) { id } }`,
        {
          token: admin.token,
          variables: { id: userId, roleIds },
        },
      );
    const reads = async (token: string, at: Service) =>
      (await at.ask(`{ campaigns { id } }`, { token })).errors === undefined;

    for (let round = 0; round < 25; round++) {
      const [here, there] = round % 2 ? [service, sibling] : [sibling, service];
      const token = await devLogin(userId);
      const api = await insertApiToken(service.database, userId);
      expectSame("a login", await reads(token, there), true);

      await setRoles([], here);
      expectSame("a role taken", await reads(token, there), false);
      await setRoles([roleId], there);
      expectSame("a role given", await reads(token, here), true);

      await here.ask(`mutation { revokeApiToken(id: "${api.tokenId}") }`, { token });
      expectSame("a token revoked", await opens(api.token, there), false);

      const [current] = (await there.ask(`{ mySessions { id } }`, { token })).data.mySessions;
      if (round % 3 === 0) await revoke(admin.token, current.id, here);
      else if (round % 3 === 1) await here.ask(`mutation { logout }`, { token });
      else {
        await set("deactivateUser", here);
        expectSame("a deactivated user's session", await opens(token, there), false);
        await set("activateUser", here);
      }
      expectSame("a session ended", await opens(token, there), false);
    }
    expect(stale).toEqual([]);
  });
});
