import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let admin: { token: string; userId: string };

const createRole = `mutation ($input: CreateRoleInput!) { createRole(input: $input) { id name description isSystem permissions { key } } }`;
const updateRole = `mutation ($id: ID!, $input: UpdateRoleInput!) { updateRole(id: $id, input: $input) { id name description permissions { key } } }`;
const deleteRole = `mutation ($id: ID!) { deleteRole(id: $id) }`;

beforeAll(async () => {
  service = await startService();
  const { data } = await service.ask(
    `mutation { bootstrapFirstUser(email: "root@example.com") { token user { id } } }`,
  );
  admin = { token: data.bootstrapFirstUser.token, userId: data.bootstrapFirstUser.user.id };
});
afterAll(async () => {
  await service.stop();
});

async function makeRole(name: string, permissionKeys: string[], description: string | null = null) {
  const answer = await service.ask(createRole, {
    token: admin.token,
    variables: { input: { name, permissionKeys, description } },
  });
  expect(answer.errors).toBeUndefined();
  return answer.data.createRole as { id: string };
}

describe("roles", () => {
  test("are created with their permissions, listed by name and read one by one", async () => {
    const created = await service.ask(createRole, {
      token: admin.token,
      variables: {
        input: { name: "  Cellar hand ", permissionKeys: ["products.read", "campaigns.read"] },
      },
    });
    expect(created.data.createRole).toMatchObject({
      name: "Cellar hand",
      description: null,
      isSystem: false,
      permissions: [{ key: "campaigns.read" }, { key: "products.read" }],
    });
    const list = await service.ask(`{ roles { name isSystem } }`, { token: admin.token });
    expect(list.data.roles.map((role: { name: string }) => role.name)).toEqual([
      "Cellar hand",
      "Superadmin",
    ]);
    const one = await service.ask(
      `query ($id: ID!) { role(id: $id) { permissions { key description } } }`,
      {
        token: admin.token,
        variables: { id: created.data.createRole.id },
      },
    );
    expect(one.data.role.permissions).toHaveLength(2);
  });

  test("keep fields that an update omits, and replace the whole set of keys", async () => {
    const { id } = await makeRole("Buyer", ["products.read", "products.update"], "Buys");
    const renamed = await service.ask(updateRole, {
      token: admin.token,
      variables: { id, input: { name: "Chief buyer" } },
    });
    expect(renamed.data.updateRole).toMatchObject({
      name: "Chief buyer",
      description: "Buys",
      permissions: [{ key: "products.read" }, { key: "products.update" }],
    });
    const changed = await service.ask(updateRole, {
      token: admin.token,
      variables: { id, input: { description: null, permissionKeys: ["orders.read"] } },
    });
    expect(changed.data.updateRole).toMatchObject({
      description: null,
      permissions: [{ key: "orders.read" }],
    });
    const none = await service.ask(updateRole, {
      token: admin.token,
      variables: { id, input: { permissionKeys: [] } },
    });
    expect(none.data.updateRole.permissions).toEqual([]);
  });

  test("have a new updatedAt after a change of their permissions, and users after a change of their roles", async () => {
    const role = await makeRole("Aged", ["products.read"]);
    const { userId } = await service.login([], "aged@example.com");
    const ask = async (query: string, variables: Record<string, unknown>) => {
      const answer = await service.ask(query, { token: admin.token, variables });
      expect(answer.errors).toBeUndefined();
      return answer.data;
    };
    const changed = async () => {
      const { role: one, user } = await ask(
        `query ($role: ID!, $user: ID!) { role(id: $role) { updatedAt } user(id: $user) { updatedAt } }`,
        { role: role.id, user: userId },
      );
      return { role: one.updatedAt as string, user: user.updatedAt as string };
    };
    const later = (one: string, other: string) => Date.parse(one) > Date.parse(other);
    const setKeys = (permissionKeys: string[]) =>
      ask(
        `mutation ($id: ID!, $input: UpdateRoleInput!) { updateRole(id: $id, input: $input) { updatedAt } }`,
        {
          id: role.id,
          input: { permissionKeys },
        },
      );
    const setRoles = (roleIds: string[]) =>
      ask(
        `mutation ($id: ID!, $input: UpdateUserInput!) { updateUser(id: $id, input: $input) { updatedAt } }`,
        {
          id: userId,
          input: { roleIds },
        },
      );

    let before = await changed();
    for (const keys of [["products.read", "users.read"], ["users.read"]]) {
      const { updateRole: answered } = await setKeys(keys);
      expect(later(answered.updatedAt, before.role)).toBe(true);
      before = await changed();
      expect(before.role).toBe(answered.updatedAt);
    }
    await setKeys(["users.read"]);
    await ask(updateRole, { id: role.id, input: { name: "Aged", description: null } });
    expect(await changed()).toEqual(before);

    const { updateUser: given } = await setRoles([role.id]);
    expect(later(given.updatedAt, before.user)).toBe(true);
    before = await changed();
    expect(before.user).toBe(given.updatedAt);
    await setRoles([role.id]);
    await ask(`mutation ($id: ID!) { activateUser(userId: $id) { id } }`, { id: userId });
    await ask(`mutation ($id: ID!) { updateUser(id: $id, input: { name: null }) { id } }`, {
      id: userId,
    });
    expect(await changed()).toEqual(before);
    await ask(deleteRole, { id: role.id });
    const { user } = await ask(`query ($id: ID!) { user(id: $id) { updatedAt } }`, { id: userId });
    expect(later(user.updatedAt, before.user)).toBe(true);
  });

  test("reject unknown keys by name, taken names in any case, and null instead of a list", async () => {
    const { id } = await makeRole("Taster", ["products.read"]);
    const unknown = await service.ask(createRole, {
      token: admin.token,
      variables: {
        input: { name: "Odd", permissionKeys: ["products.read", "moon.walk", "sun.bathe"] },
      },
    });
    expect(unknown.errors?.[0]).toMatchObject({
      message: "permissionKeys: there are no permissions moon.walk, sun.bathe",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "permissionKeys"] },
    });
    const taken = await service.ask(createRole, {
      token: admin.token,
      variables: { input: { name: "TASTER", permissionKeys: [] } },
    });
    expect(taken.errors?.[0]).toMatchObject({
      message: "A role of this name exists already.",
      extensions: { code: "CONFLICT", path: ["input", "name"] },
    });
    const nulled = await service.ask(updateRole, {
      token: admin.token,
      variables: { id, input: { permissionKeys: null } },
    });
    expect(nulled.errors?.[0]?.message).toContain("permissionKeys cannot be null");
    for (const name of ["", "   ", "a\u202Eb", "zero\u200Bwidth", "x".repeat(81)]) {
      const refused = await service.ask(createRole, {
        token: admin.token,
        variables: { input: { name, permissionKeys: [] } },
      });
      expect(refused.errors?.[0]).toMatchObject({
        message: "name must be 1 to 80 visible characters without spaces at its ends",
        extensions: { code: "BAD_USER_INPUT", path: ["input", "name"] },
      });
    }
  });

  test("of the system cannot be changed or deleted", async () => {
    const { data } = await service.ask(`{ roles { id isSystem } }`, { token: admin.token });
    const { id } = data.roles.find((role: { isSystem: boolean }) => role.isSystem);
    for (const answer of [
      await service.ask(updateRole, {
        token: admin.token,
        variables: { id, input: { name: "Boss" } },
      }),
      await service.ask(deleteRole, { token: admin.token, variables: { id } }),
    ])
      expect(answer.errors?.[0]).toMatchObject({
        message: "Superadmin is a system role and can be neither changed nor deleted",
        extensions: { code: "SYSTEM_ROLE" },
      });
  });

  test("are removed from their holders when they are deleted, and each removal is audited", async () => {
    const holder = await service.login(["campaigns.read"]);
    const answer = await service.ask(deleteRole, {
      token: admin.token,
      variables: { id: holder.roleId },
    });
    expect(answer.data.deleteRole).toBe(true);
    const refused = await service.ask(`{ campaigns { id } }`, { token: holder.token });
    expect(refused.errors?.[0]?.message).toBe("Missing required permission: campaigns.read");
    const log = await service.ask(
      `query ($id: String!) { auditLogs(input: { entityType: "UserRole", entityId: $id, operation: "DELETE" }) { items { before actorUserId } } }`,
      { token: admin.token, variables: { id: holder.userId } },
    );
    expect(log.data.auditLogs.items).toMatchObject([
      { before: { userId: holder.userId, roleId: holder.roleId }, actorUserId: admin.userId },
    ]);
    const again = await service.ask(deleteRole, {
      token: admin.token,
      variables: { id: holder.roleId },
    });
    expect(again.errors?.[0]).toMatchObject({ extensions: { code: "NOT_FOUND", path: ["id"] } });
  });

  test("of a pending invitation cannot be deleted", async () => {
    const { id } = await makeRole("Newcomer", []);
    const invited = await service.ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { status roleId expiresAt } }`,
      { token: admin.token, variables: { input: { email: "new@example.com", roleId: id } } },
    );
    expect(invited.data.createInvitation).toMatchObject({ status: "pending", roleId: id });
    const refused = await service.ask(deleteRole, { token: admin.token, variables: { id } });
    expect(refused.errors?.[0]?.extensions.code).toBe("CONFLICT");
  });

  test.each([
    [`{ roles { id } }`, "roles.read"],
    [`{ role(id: "00000000-0000-0000-0000-000000000000") { id } }`, "roles.read"],
    [`{ permissions { id } }`, "permissions.read"],
    [`mutation { createRole(input: { name: "x", permissionKeys: [] }) { id } }`, "roles.create"],
    [
      `mutation { updateRole(id: "00000000-0000-0000-0000-000000000000", input: {}) { id } }`,
      "roles.update",
    ],
    [`mutation { deleteRole(id: "00000000-0000-0000-0000-000000000000") }`, "roles.delete"],
  ])("%s is rejected without %s", async (query, key) => {
    const { token } = await service.login([]);
    const answer = await service.ask(query, { token });
    expect(answer).toMatchObject({
      status: 200,
      errors: [
        {
          message: `Missing required permission: ${key}`,
          extensions: { code: "FORBIDDEN", requiredPermission: key },
        },
      ],
    });
  });
});

describe("a user cannot grant permissions that they do not hold", () => {
  test("by a new role, a changed role, an invitation, or to themselves", async () => {
    const clerk = await service.login([
      "roles.create",
      "roles.update",
      "users.update",
      "invitations.create",
      "roles.read",
    ]);
    const made = await service.ask(createRole, {
      token: clerk.token,
      variables: { input: { name: "Sly", permissionKeys: ["roles.read", "audit.read"] } },
    });
    expect(made.errors?.[0]).toMatchObject({
      message: "You cannot grant what you do not hold: audit.read",
      extensions: { code: "FORBIDDEN", permissionKeys: ["audit.read"] },
    });
    const own = await service.ask(updateRole, {
      token: clerk.token,
      variables: {
        id: clerk.roleId,
        input: { permissionKeys: ["roles.update", "audit.read", "ai.use"] },
      },
    });
    expect(own.errors?.[0]?.message).toBe(
      "You cannot grant what you do not hold: ai.use, audit.read",
    );

    const { data } = await service.ask(`{ roles { id name } }`, { token: clerk.token });
    const superadmin = data.roles.find((role: { name: string }) => role.name === "Superadmin").id;
    const invited = await service.ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }`,
      {
        token: clerk.token,
        variables: { input: { email: "crony@example.com", roleId: superadmin } },
      },
    );
    expect(invited.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const self = await service.ask(
      `mutation ($id: ID!, $input: UpdateUserInput!) { updateUser(id: $id, input: $input) { id } }`,
      {
        token: clerk.token,
        variables: { id: clerk.userId, input: { roleIds: [clerk.roleId, superadmin] } },
      },
    );
    expect(self.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const { rows } = await service.database.pool.query(
      "select from users where email = 'crony@example.com'",
    );
    expect(rows).toHaveLength(0);
  });
});
