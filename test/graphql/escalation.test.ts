import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allPermissions } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";
import {
  activate,
  codeOf,
  createRole,
  deactivate,
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

describe("a user who can create and assign roles, invite and create tokens, but lacks a permission,", () => {
  test("cannot obtain any such permission", async () => {
    await superadmin();
    const attacker = await service.login(granting);
    const accomplice = await service.login(["roles.read"]);
    for (const key of [...keys.filter((other) => !granting.includes(other)), "all"]) {
      const victim = key === "all" ? await superadmin() : await service.login([key]);
      const roleId = key === "all" ? systemRole : victim.roleId;
      const lacking = key === "all" ? keys.filter((other) => !granting.includes(other)) : [key];
      const before = await allRights();
      const attempts: Record<string, Promise<Answer>> = {
        "making a role": ask(attacker.token, createRole, { name: `with ${key}`, keys: lacking }),
        "editing the role that one holds": ask(attacker.token, updateRole, {
          id: attacker.roleId,
          keys: [...granting, ...lacking],
        }),
        "giving oneself a role": ask(attacker.token, setRoles, {
          id: attacker.userId,
          roleIds: [attacker.roleId, roleId],
        }),
        "giving an accomplice a role": ask(attacker.token, setRoles, {
          id: accomplice.userId,
          roleIds: [roleId],
        }),
        "inviting somebody": ask(attacker.token, invite, { email: `${key}@example.com`, roleId }),
        "a narrowed token of the holder": ask(attacker.token, userToken, {
          id: victim.userId,
          scopes: lacking,
        }),
        "an unlimited token of the holder": ask(attacker.token, userToken, { id: victim.userId }),
        "a token of one's own": ask(attacker.token, myToken, { scopes: lacking }),
      };
      for (const [way, attempt] of Object.entries(attempts)) {
        const answer = await attempt;
        expect([way, key, codeOf(answer), messageOf(answer)]).toEqual([
          way,
          key,
          "FORBIDDEN",
          `You cannot grant what you do not hold: ${lacking.sort().join(", ")}`,
        ]);
      }
      expect(await allRights()).toEqual(before);
    }
  });

  test("cannot change the system role or create one with a similar name", async () => {
    const attacker = await service.login(keys);
    const before = await allRights();
    expect(codeOf(await ask(attacker.token, updateRole, { id: systemRole, keys: [] }))).toBe(
      "SYSTEM_ROLE",
    );
    expect(
      codeOf(
        await ask(attacker.token, `mutation ($id: ID!) { deleteRole(id: $id) }`, {
          id: systemRole,
        }),
      ),
    ).toBe("SYSTEM_ROLE");
    expect(codeOf(await ask(attacker.token, createRole, { name: "SUPERADMIN", keys: [] }))).toBe(
      "CONFLICT",
    );
    for (const name of ["Superadmin\u200b", "\u202eSuperadmin", "Super\u00adadmin"])
      expect(codeOf(await ask(attacker.token, createRole, { name, keys: [] }))).toBe(
        "BAD_USER_INPUT",
      );
    expect(await allRights()).toEqual(before);
  });

  test("cannot change roles by inviting an existing user, active or deactivated", async () => {
    const admin = await superadmin();
    const attacker = await service.login(granting);
    const target = await service.login(["audit.read"], "target@example.com");
    const before = await allRights();
    const again = () =>
      ask(attacker.token, invite, { email: "TARGET@example.com", roleId: attacker.roleId });
    expect(codeOf(await again())).toBe("CONFLICT");
    expect(codeOf(await ask(admin.token, deactivate, { id: target.userId }))).toBeUndefined();
    expect(codeOf(await again())).toBe("CONFLICT");
    expect(await allRights()).toEqual(before);
  });

  test("cannot act for an invited user whose role holds more", async () => {
    const admin = await superadmin();
    const auditor = await service.login(["audit.read"]);
    await ask(admin.token, invite, { email: "invited@example.com", roleId: auditor.roleId });
    const [invited] = await sql<{ id: string }>(
      "select id from users where email = 'invited@example.com'",
    );
    const attacker = await service.login(granting);
    expect(codeOf(await ask(attacker.token, userToken, { id: invited?.id }))).toBe("CONFLICT");
    const activation = await ask(attacker.token, activate, { id: invited?.id });
    expect([codeOf(activation), messageOf(activation)]).toEqual([
      "FORBIDDEN",
      "You cannot grant what you do not hold: audit.read",
    ]);
    expect(codeOf(await ask(admin.token, activate, { id: invited?.id }))).toBeUndefined();
    expect(messageOf(await ask(attacker.token, userToken, { id: invited?.id }))).toBe(
      "You cannot grant what you do not hold: audit.read",
    );
  });

  test("cannot become the first user again after all users are deactivated", async () => {
    await sql("update users set is_active = false");
    expect(
      codeOf(
        await service.ask(`mutation { bootstrapFirstUser(email: "again@example.com") { token } }`),
      ),
    ).toBe("CONFLICT");
  });
});
