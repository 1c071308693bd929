import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import { granting, invite, stage, updateRole } from "../helpers/graphql/attacks.ts";

let service: Service;
const { allRights, ask, sql, superadmin } = stage(() => service);

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

describe("a user who can change roles, users and invitations, but lacks a permission,", () => {
  const deleteRole = `mutation ($id: ID!) { deleteRole(id: $id) }`;
  const revokeSession = `mutation ($id: ID!) { revokeSession(id: $id) }`;
  const revokeToken = `mutation ($id: ID!) { revokeApiToken(id: $id) }`;
  const revokeInvitation = `mutation ($id: ID!) { revokeInvitation(id: $id) { status } }`;
  const alive = () =>
    sql(
      `select id::text, ended_at as ended from sessions
       union all select id::text, revoked_at from api_tokens
       union all select id::text, revoked_at from invitations
       union all select id::text, null from roles order by 1`,
    );
  const idOf = async (from: "sessions" | "api_tokens" | "invitations", value: string) =>
    (
      await sql<{ id: string }>(
        `select id from ${from} where ${from === "invitations" ? "email" : "user_id::text"} = $1 order by id desc`,
        [value],
      )
    )[0]?.id;

  test("cannot remove it from others, also not with a scoped token of a holder", async () => {
    const admin = await superadmin();
    const auditor = await service.login(["audit.read", "users.read"]);
    const apiToken = await insertApiToken(service.database, auditor.userId, null);
    await ask(admin.token, invite, { email: "auditor@example.com", roleId: auditor.roleId });
    const { token: narrowed } = await insertApiToken(service.database, admin.userId, [
      ...granting,
      "users.read",
    ]);
    const lesser = await service.login([...granting, "users.read"]);
    const other = await service.login([]);
    const [rights, before] = [await allRights(), await alive()];
    for (const token of [lesser.token, narrowed]) {
      const attempts: Record<string, [string, Record<string, unknown>]> = {
        "emptying the role": [updateRole, { id: auditor.roleId, keys: [] }],
        "leaving the key out": [updateRole, { id: auditor.roleId, keys: ["users.read"] }],
        "putting another in its place": [updateRole, { id: auditor.roleId, keys: granting }],
        "deleting the role": [deleteRole, { id: auditor.roleId }],
        "ending the session": [revokeSession, { id: await idOf("sessions", auditor.userId) }],
        "ending the token": [revokeToken, { id: apiToken.tokenId }],
        "revoking the invitation": [
          revokeInvitation,
          { id: await idOf("invitations", "auditor@example.com") },
        ],
        "replacing the invitation": [
          invite,
          { email: "Auditor@example.com", roleId: other.roleId },
        ],
      };
      for (const [way, [document, variables]] of Object.entries(attempts)) {
        const { errors } = await ask(token, document, variables);
        expect([way, errors?.[0]?.message, errors?.[0]?.extensions.permissionKeys]).toEqual([
          way,
          "You cannot take away what you do not hold: audit.read",
          ["audit.read"],
        ]);
      }
    }
    expect(await allRights()).toEqual(rights);
    expect(await alive()).toEqual(before);
    expect((await ask(auditor.token, "{ me { id } }")).data.me.id).toBe(auditor.userId);
  });

  test("can change the rest of such a role, and remove permissions that they hold", async () => {
    const admin = await superadmin();
    const lesser = await service.login([...granting, "users.read"]);
    const auditor = await service.login(["audit.read", "users.read"]);
    const named = `mutation ($id: ID!) { updateRole(id: $id, input: {name: "Auditors", permissionKeys: ["audit.read"]}) { name } }`;
    const changed = await ask(lesser.token, named, { id: auditor.roleId });
    expect(changed.data.updateRole).toEqual({ name: "Auditors" });

    const reader = await service.login(["users.read"]);
    const readersToken = await insertApiToken(service.database, reader.userId, null);
    // The token's scopes count, not the owner's permissions.
    const narrow = await insertApiToken(service.database, auditor.userId, ["users.read"]);
    await sql(
      "insert into role_permissions select $1, id from permissions where key = 'users.read'",
      [auditor.roleId],
    );
    await ask(admin.token, invite, { email: "reader@example.com", roleId: reader.roleId });
    for (const [document, id] of [
      [revokeToken, readersToken.tokenId],
      [revokeToken, narrow.tokenId],
      [revokeSession, await idOf("sessions", reader.userId)],
      [revokeInvitation, await idOf("invitations", "reader@example.com")],
      [deleteRole, (await service.login(["users.read"])).roleId],
    ] as const)
      expect((await ask(lesser.token, document, { id })).errors).toBeUndefined();
  });

  test("can revoke their own invitation, but not with a scoped token", async () => {
    const inviter = await service.login([...granting, "audit.read"]);
    const { roleId } = await service.login(["audit.read"]);
    await ask(inviter.token, invite, { email: "own@example.com", roleId });
    await sql(
      "delete from role_permissions where role_id = $1 and permission_id = (select id from permissions where key = 'audit.read')",
      [inviter.roleId],
    );
    const id = await idOf("invitations", "own@example.com");
    const { token } = await insertApiToken(service.database, inviter.userId, [
      "invitations.create",
    ]);
    expect((await ask(token, revokeInvitation, { id })).errors?.[0]?.message).toBe(
      "You cannot take away what you do not hold: audit.read",
    );
    const answer = await ask(inviter.token, revokeInvitation, { id });
    expect(answer.data.revokeInvitation.status).toBe("expired");
  });
});
