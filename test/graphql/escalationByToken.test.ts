import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions, insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import {
  codeOf,
  createRole,
  granting,
  invite,
  messageOf,
  myToken,
  setRoles,
  updateRole,
  userToken,
  stage,
} from "../helpers/graphql/attacks.ts";

let service: Service;
let keys: string[];
let systemRole: string;
const { allRights, ask, sql, superadmin, superadminRole } = stage(() => service);

beforeAll(async () => {
  service = await startService();
  keys = await allPermissions(service.database);
  systemRole = await superadminRole();
});
afterAll(async () => {
  await service.stop();
});

describe("a scoped token of a Superadmin", () => {
  test("grants nothing beyond its scopes", async () => {
    const owner = await superadmin();
    const accomplice = await service.login([]);
    const auditor = await service.login(["audit.read"]);
    const { token } = await insertApiToken(service.database, owner.userId, granting);
    const before = await allRights();
    const attempts = [
      ask(token, createRole, { name: "beyond", keys: ["audit.read"] }),
      ask(token, updateRole, { id: accomplice.roleId, keys: ["audit.read"] }),
      ask(token, setRoles, { id: accomplice.userId, roleIds: [auditor.roleId] }),
      ask(token, setRoles, { id: accomplice.userId, roleIds: [systemRole] }),
      ask(token, invite, { email: "beyond@example.com", roleId: systemRole }),
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

  test("cannot change its owner, or see or end logins and tokens, without users.update", async () => {
    const owner = await superadmin();
    const { token, tokenId } = await insertApiToken(
      service.database,
      owner.userId,
      keys.filter((key) => key !== "users.update"),
    );
    const [session] = await sql<{ id: string }>("select id from sessions where user_id = $1", [
      owner.userId,
    ]);
    const attempts = [
      ask(token, userToken, { id: owner.userId, scopes: ["users.read"] }),
      ask(token, `mutation ($id: ID!) { revokeApiToken(id: $id) }`, { id: tokenId }),
      ask(token, `mutation ($id: ID!) { revokeSession(id: $id) }`, { id: session?.id }),
      ask(token, `query ($id: ID!) { userApiTokens(userId: $id) { id } }`, { id: owner.userId }),
      ask(token, `query ($id: ID!) { userSessions(userId: $id) { id } }`, { id: owner.userId }),
    ];
    for (const attempt of attempts)
      expect(messageOf(await attempt)).toBe("Missing required permission: users.update");
    const rename = `mutation ($id: ID!) { updateUser(id: $id, input: {name: "Mallory"}) { id } }`;
    for (const answer of [
      ask(token, rename, { id: owner.userId }),
      ask(token, setRoles, { id: owner.userId, roleIds: [] }),
      ask(token, `{ myApiTokens { id } }`),
      ask(token, `{ mySessions { id } }`),
    ])
      expect(messageOf(await answer)).toMatch(/^This needs a full login/);
  });

  test("gains nothing from a deleted permission, an emptied list or its owner's new roles", async () => {
    const owner = await service.login(["campaigns.read"]);
    await sql("insert into permissions (key, description) values ('short.lived', 'For this test')");
    const { token, tokenId } = await insertApiToken(service.database, owner.userId, [
      "short.lived",
    ]);
    await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [
      owner.userId,
      systemRole,
    ]);
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
    await expect(
      sql("update api_tokens set is_scoped = false, scopes = '{users.read}' where id = $1", [
        tokenId,
      ]),
    ).rejects.toThrow(/api_tokens_scopes_check/);
  });
});
