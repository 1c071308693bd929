import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions, insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

type Login = Awaited<ReturnType<Service["login"]>>;

const createRole = `mutation ($name: String!, $keys: [String!]!) { createRole(input: {name: $name, permissionKeys: $keys}) { id } }`;
const updateRole = `mutation ($id: ID!, $keys: [String!]) { updateRole(id: $id, input: {permissionKeys: $keys}) { id } }`;
const setRoles = `mutation ($id: ID!, $roleIds: [ID!]) { updateUser(id: $id, input: {roleIds: $roleIds}) { id } }`;
const invite = `mutation ($email: String!, $roleId: ID!) { createInvitation(input: {email: $email, roleId: $roleId}) { id } }`;
const myToken = `mutation ($scopes: [String!]) { createMyApiToken(input: {name: "x", scopes: $scopes}) { id token } }`;
const userToken = `mutation ($id: ID!, $scopes: [String!]) { createUserApiToken(userId: $id, input: {name: "x", scopes: $scopes}) { id token } }`;
const deactivate = `mutation ($id: ID!) { deactivateUser(userId: $id) { id } }`;

/** All that lets one give rights to others. */
const granting = ["roles.create", "roles.update", "roles.delete", "users.update", "invitations.create", "roles.read"];

let service: Service;
let keys: string[];
let superadminRole: string;

beforeAll(async () => {
  service = await startService({ env: { LOGIN_ATTEMPTS_PER_MINUTE: "100000" } });
  keys = await allPermissions(service.database);
  const [role] = await sql<{ id: string }>("select id from roles where is_system");
  superadminRole = role?.id ?? "";
});
afterAll(async () => {
  await service.stop();
});

async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

const ask = (token: string, query: string, variables: Record<string, unknown> = {}) =>
  service.ask(query, { token, variables });
const codeOf = (answer: Answer) => answer.errors?.[0]?.extensions.code;
const messageOf = (answer: Answer) => answer.errors?.[0]?.message;

let superadmins = 0;
/** A further Superadmin, with a session. */
async function superadmin(): Promise<Login> {
  const login = await service.login([], `superadmin${++superadmins}@example.com`);
  await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [login.userId, superadminRole]);
  return login;
}

const activeSuperadmins = async () =>
  (
    await sql(
      "select from user_roles ur join users u on u.id = ur.user_id where ur.role_id = $1 and u.is_active",
      [superadminRole],
    )
  ).length;

/** All that anyone holds or could come to hold. */
const allRights = () =>
  sql(
    `select 'role' as kind, role_id::text as holder, permission_id::text as what from role_permissions
     union all select 'user', user_id::text, role_id::text from user_roles
     union all select 'token', user_id::text, array_to_string(scopes, ',') from api_tokens
     union all select 'invitation', email, role_id::text from invitations
     order by 1, 2, 3`,
  );

describe("Whoever may make roles, give roles, invite and make tokens, but lacks a permission,", () => {
  test("gets at it in no way, for each permission", async () => {
    await superadmin();
    const attacker = await service.login(granting);
    const accomplice = await service.login(["roles.read"]);
    for (const key of [...keys.filter((other) => !granting.includes(other)), "all"]) {
      const victim = key === "all" ? await superadmin() : await service.login([key]);
      const roleId = key === "all" ? superadminRole : victim.roleId;
      const lacking = key === "all" ? keys.filter((other) => !granting.includes(other)) : [key];
      const before = await allRights();
      const attempts: Record<string, Promise<Answer>> = {
        "making a role": ask(attacker.token, createRole, { name: `with ${key}`, keys: lacking }),
        "editing the role that one holds": ask(attacker.token, updateRole, { id: attacker.roleId, keys: [...granting, ...lacking] }),
        "giving oneself a role": ask(attacker.token, setRoles, { id: attacker.userId, roleIds: [attacker.roleId, roleId] }),
        "giving an accomplice a role": ask(attacker.token, setRoles, { id: accomplice.userId, roleIds: [roleId] }),
        "inviting somebody": ask(attacker.token, invite, { email: `${key}@example.com`, roleId }),
        "a narrowed token of the holder": ask(attacker.token, userToken, { id: victim.userId, scopes: lacking }),
        "an unlimited token of the holder": ask(attacker.token, userToken, { id: victim.userId }),
      };
      for (const [way, attempt] of Object.entries(attempts)) {
        const answer = await attempt;
        expect([way, key, codeOf(answer), messageOf(answer)]).toEqual([
          way, key, "FORBIDDEN", `You cannot grant what you do not hold: ${lacking.sort().join(", ")}`,
        ]);
      }
      expect(codeOf(await ask(attacker.token, myToken, { scopes: lacking }))).toBe("BAD_USER_INPUT");
      expect(await allRights()).toEqual(before);
    }
  });

  test("cannot touch the system role, nor make one that looks like it", async () => {
    const attacker = await service.login(keys);
    const before = await allRights();
    expect(codeOf(await ask(attacker.token, updateRole, { id: superadminRole, keys: [] }))).toBe("SYSTEM_ROLE");
    expect(codeOf(await ask(attacker.token, `mutation ($id: ID!) { deleteRole(id: $id) }`, { id: superadminRole }))).toBe("SYSTEM_ROLE");
    expect(codeOf(await ask(attacker.token, createRole, { name: "SUPERADMIN", keys: [] }))).toBe("CONFLICT");
    for (const name of ["Superadmin\u200b", "\u202eSuperadmin", "Super\u00adadmin"])
      expect(codeOf(await ask(attacker.token, createRole, { name, keys: [] }))).toBe("BAD_USER_INPUT");
    expect(await allRights()).toEqual(before);
  });

  test("cannot change roles by inviting whoever is a user already, active or deactivated", async () => {
    await superadmin();
    const attacker = await service.login(granting);
    const target = await service.login(["audit.read"], "target@example.com");
    const before = await allRights();
    const again = () => ask(attacker.token, invite, { email: "TARGET@example.com", roleId: attacker.roleId });
    expect(codeOf(await again())).toBe("CONFLICT");
    await ask(attacker.token, deactivate, { id: target.userId });
    expect(codeOf(await again())).toBe("CONFLICT");
    expect(await allRights()).toEqual(before);
  });

  test("cannot act for an invited user whose role holds more", async () => {
    const admin = await superadmin();
    const auditor = await service.login(["audit.read"]);
    await ask(admin.token, invite, { email: "invited@example.com", roleId: auditor.roleId });
    const [invited] = await sql<{ id: string }>("select id from users where email = 'invited@example.com'");
    const attacker = await service.login(granting);
    expect(codeOf(await ask(attacker.token, userToken, { id: invited?.id }))).toBe("CONFLICT");
    await ask(attacker.token, `mutation ($id: ID!) { activateUser(userId: $id) { id } }`, { id: invited?.id });
    expect(messageOf(await ask(attacker.token, userToken, { id: invited?.id }))).toBe(
      "You cannot grant what you do not hold: audit.read",
    );
  });

  test("cannot become the first user again", async () => {
    await sql("update users set is_active = is_active");
    expect(codeOf(await service.ask(`mutation { bootstrapFirstUser(email: "again@example.com") { token } }`))).toBe("CONFLICT");
  });
});

describe("A token narrowed to scopes, of a Superadmin,", () => {
  test("grants nothing beyond its scopes, in whatever way", async () => {
    const owner = await superadmin();
    const accomplice = await service.login([]);
    const auditor = await service.login(["audit.read"]);
    const { token } = await insertApiToken(service.database, owner.userId, granting);
    const before = await allRights();
    const attempts = [
      ask(token, createRole, { name: "beyond", keys: ["audit.read"] }),
      ask(token, updateRole, { id: accomplice.roleId, keys: ["audit.read"] }),
      ask(token, setRoles, { id: accomplice.userId, roleIds: [auditor.roleId] }),
      ask(token, setRoles, { id: accomplice.userId, roleIds: [superadminRole] }),
      ask(token, invite, { email: "beyond@example.com", roleId: superadminRole }),
      ask(token, myToken, { scopes: ["audit.read"] }),
      ask(token, userToken, { id: owner.userId, scopes: ["audit.read"] }),
      ask(token, userToken, { id: auditor.userId, scopes: ["audit.read"] }),
      ask(token, myToken),
      ask(token, userToken, { id: owner.userId }),
      ask(token, userToken, { id: accomplice.userId }),
    ];
    for (const attempt of attempts) expect(codeOf(await attempt)).toBe("FORBIDDEN");
    expect(await allRights()).toEqual(before);
  });

  test("can neither act on its own owner without users.update, nor see or end logins and tokens", async () => {
    const owner = await superadmin();
    const { token, tokenId } = await insertApiToken(service.database, owner.userId, keys.filter((key) => key !== "users.update"));
    const [session] = await sql<{ id: string }>("select id from sessions where user_id = $1", [owner.userId]);
    const attempts = [
      ask(token, `mutation ($id: ID!) { updateUser(id: $id, input: {name: "Mallory"}) { id } }`, { id: owner.userId }),
      ask(token, setRoles, { id: owner.userId, roleIds: [] }),
      ask(token, userToken, { id: owner.userId, scopes: ["users.read"] }),
      ask(token, `mutation ($id: ID!) { revokeApiToken(id: $id) }`, { id: tokenId }),
      ask(token, `mutation ($id: ID!) { revokeSession(id: $id) }`, { id: session?.id }),
      ask(token, `query ($id: ID!) { userApiTokens(userId: $id) { id } }`, { id: owner.userId }),
      ask(token, `query ($id: ID!) { userSessions(userId: $id) { id } }`, { id: owner.userId }),
    ];
    for (const attempt of attempts) expect(messageOf(await attempt)).toBe("Missing required permission: users.update");
    for (const query of [`{ myApiTokens { id } }`, `{ mySessions { id } }`])
      expect(messageOf(await ask(token, query))).toMatch(/^This needs a full login/);
  });

  test("is not widened by a deleted permission, an emptied list or its owner's new roles", async () => {
    const owner = await service.login(["campaigns.read"]);
    await sql("insert into permissions (key, description) values ('short.lived', 'For this test')");
    const { token, tokenId } = await insertApiToken(service.database, owner.userId, ["short.lived"]);
    await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [owner.userId, superadminRole]);
    const closed = async () => {
      for (const query of [`{ campaigns { id } }`, `{ users { id } }`, `{ auditLogs { total } }`])
        expect(codeOf(await ask(token, query))).toBe("FORBIDDEN");
      expect(codeOf(await ask(token, myToken))).toBe("FORBIDDEN");
    };
    await closed();
    await sql("delete from permissions where key = 'short.lived'");
    await closed();
    await sql("update api_tokens set scopes = '{}' where id = $1", [tokenId]);
    await closed();
    await expect(sql("update api_tokens set is_scoped = false, scopes = '{users.read}' where id = $1", [tokenId])).rejects.toThrow(
      /api_tokens_scopes_check/,
    );
  });
});

describe("The last active Superadmin", () => {
  beforeAll(() => sql("delete from user_roles where role_id = $1", [superadminRole]));

  test("stays, whoever wants to deactivate or strip them, themselves included", async () => {
    const last = await superadmin();
    const admin = await service.login(granting);
    const wide = await insertApiToken(service.database, last.userId);
    for (const token of [admin.token, last.token, wide.token]) {
      expect(codeOf(await ask(token, deactivate, { id: last.userId }))).toBe("CONFLICT");
      expect(codeOf(await ask(token, setRoles, { id: last.userId, roleIds: [] }))).toBe("CONFLICT");
    }
    expect(await activeSuperadmins()).toBe(1);
  });

  test("stays when two of them strip or deactivate each other at once", async () => {
    await sql("delete from user_roles where role_id = $1", [superadminRole]);
    for (let round = 0; round < 10; round++) {
      const [first, second] = [await superadmin(), await superadmin()];
      const strip = (by: Login, of: Login) =>
        round % 2
          ? ask(by.token, deactivate, { id: of.userId })
          : ask(by.token, setRoles, { id: of.userId, roleIds: [] });
      await Promise.all([
        strip(first, second),
        strip(second, first),
        ask(first.token, setRoles, { id: first.userId, roleIds: [] }),
        ask(second.token, setRoles, { id: second.userId, roleIds: [] }),
      ]);
      expect(await activeSuperadmins()).toBe(1);
      await sql("delete from user_roles where role_id = $1", [superadminRole]);
    }
  });
});

describe("A user who is being deactivated", () => {
  test("leaves no token behind, however hard they make some meanwhile", async () => {
    const admin = await superadmin();
    for (let round = 0; round < 10; round++) {
      const leaver = await service.login([]);
      const { token } = await insertApiToken(service.database, leaver.userId);
      const making = () => [ask(leaver.token, myToken), ask(token, myToken)];
      await Promise.all([...making(), ask(admin.token, deactivate, { id: leaver.userId }), ...making()]);
      expect(await sql("select from api_tokens where user_id = $1 and revoked_at is null", [leaver.userId])).toEqual([]);
      expect(await sql("select from sessions where user_id = $1 and ended_at is null", [leaver.userId])).toEqual([]);
    }
  });
});
