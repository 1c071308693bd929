import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";
import {
  activate,
  codeOf,
  deactivate,
  granting,
  invite,
  messageOf,
  setRoles,
  stage,
} from "../helpers/graphql/attacks.ts";

let service: Service;
const { allRights, ask, sql, superadmin } = stage(() => service);

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

const isActive = async (id: string) =>
  (await sql<{ is_active: boolean }>("select is_active from users where id = $1", [id]))[0]
    ?.is_active;

function expectRefusal(answer: Answer, doing: string, ...keys: string[]): void {
  expect(answer.errors).toMatchObject([
    {
      message: `You cannot ${doing} what you do not hold: ${keys.join(", ")}`,
      extensions: { code: "FORBIDDEN", permissionKeys: keys },
    },
  ]);
}

describe("a user with users.update and fewer permissions than another user", () => {
  test("cannot deactivate the other, whose session continues", async () => {
    const helpdesk = await service.login(["users.update", "users.read"]);
    const auditor = await service.login(["users.read", "audit.read", "orders.read"]);
    const answer = await ask(helpdesk.token, deactivate, { id: auditor.userId });
    expectRefusal(answer, "take away", "audit.read", "orders.read");
    expect(await isActive(auditor.userId)).toBe(true);
    expect((await ask(auditor.token, "{ me { id } }")).data.me.id).toBe(auditor.userId);

    const admin = await superadmin();
    const all = await ask(helpdesk.token, deactivate, { id: admin.userId });
    expect(codeOf(all)).toBe("FORBIDDEN");
    expect(await isActive(admin.userId)).toBe(true);
  });

  test("can only remove roles whose permissions they hold", async () => {
    const helpdesk = await service.login(["users.update", "users.read"]);
    const target = await service.login(["audit.read"]);
    const { roleId: reading } = await service.login(["users.read"]);
    await sql("insert into user_roles (user_id, role_id) values ($1, $2)", [
      target.userId,
      reading,
    ]);
    const before = await allRights();
    for (const roleIds of [[], [reading], [helpdesk.roleId]])
      expectRefusal(
        await ask(helpdesk.token, setRoles, { id: target.userId, roleIds }),
        "take away",
        "audit.read",
      );
    expect(await allRights()).toEqual(before);
    const taken = await ask(helpdesk.token, setRoles, {
      id: target.userId,
      roleIds: [target.roleId],
    });
    expect(taken.errors).toBeUndefined();
  });

  test("cannot activate the other, but can activate others", async () => {
    const admin = await superadmin();
    const helpdesk = await service.login(["users.update", "users.read"]);
    const auditor = await service.login(["audit.read"]);
    const colleague = await service.login(["users.read"]);
    const { userId: powerless } = await service.login([]);
    for (const id of [auditor.userId, colleague.userId, powerless])
      expect((await ask(admin.token, deactivate, { id })).errors).toBeUndefined();
    expectRefusal(
      await ask(helpdesk.token, activate, { id: auditor.userId }),
      "grant",
      "audit.read",
    );
    expect(await isActive(auditor.userId)).toBe(false);
    for (const id of [colleague.userId, powerless])
      expect((await ask(helpdesk.token, activate, { id })).data.activateUser.isActive).toBe(true);
    expect((await ask(admin.token, activate, { id: auditor.userId })).errors).toBeUndefined();
    // This activates no further permission, so it is not a grant.
    expect((await ask(helpdesk.token, activate, { id: auditor.userId })).errors).toBeUndefined();
  });

  test("cannot do so with a scoped token, not even for its owner", async () => {
    const admin = await superadmin();
    const { token } = await insertApiToken(service.database, admin.userId, ["users.update"]);
    const auditor = await service.login(["audit.read"]);
    expectRefusal(await ask(token, deactivate, { id: auditor.userId }), "take away", "audit.read");
    expect(codeOf(await ask(token, setRoles, { id: admin.userId, roleIds: [] }))).toBe("FORBIDDEN");
    const { userId } = await service.login(["users.update"]);
    expect((await ask(token, deactivate, { id: userId })).errors).toBeUndefined();
  });

  test("gets NOT_FOUND for an unknown user", async () => {
    const helpdesk = await service.login(["users.update"]);
    for (const verb of [activate, deactivate]) {
      const answer = await ask(helpdesk.token, verb, {
        id: "00000000-0000-7000-8000-000000000000",
      });
      expect(codeOf(answer)).toBe("NOT_FOUND");
    }
  });
});

describe("the pending invitations of a deactivated user", () => {
  const statusOf = async (email: string) =>
    (
      await sql<{ id: string; state: string; invited_by_user_id: string }>(
        "select id, state, invited_by_user_id from invitations where email = $1",
        [email],
      )
    )[0];
  const resend = `mutation ($id: ID!) { resendInvitation(id: $id) { status } }`;

  test("end with an audit row, unlike accepted ones and those of others", async () => {
    const admin = await superadmin();
    const leaver = await service.login(granting);
    const { roleId } = await service.login(["roles.read"]);
    for (const email of ["one@example.com", "two@example.com", "joined@example.com"])
      await ask(leaver.token, invite, { email, roleId });
    await ask(admin.token, invite, { email: "other@example.com", roleId });
    const [joined] = await sql<{ id: string }>(
      "select id from users where email = 'joined@example.com'",
    );
    expect((await ask(admin.token, activate, { id: joined?.id })).errors).toBeUndefined();
    const answer = await ask(admin.token, deactivate, { id: leaver.userId });
    expect(answer.errors).toBeUndefined();

    const states = await Promise.all(
      ["one", "two", "joined", "other"].map((name) => statusOf(`${name}@example.com`)),
    );
    expect(states.map((row) => row?.state)).toEqual(["expired", "expired", "accepted", "pending"]);
    const recorded = await sql(
      `select actor_user_id, entity_id, after from audit_log
       where correlation_id = $1 and entity_type = 'Invitation' order by entity_id`,
      [answer.headers.get("x-correlation-id")],
    );
    expect(recorded).toEqual(
      states.slice(0, 2).map((row) => ({
        actor_user_id: admin.userId,
        entity_id: row?.id,
        after: { status: "expired", expiresAt: expect.any(String) },
      })),
    );
  });

  test("can be resent by a holder of the role's permissions, who becomes the inviter", async () => {
    const admin = await superadmin();
    const leaver = await service.login([...granting, "audit.read"]);
    const { roleId } = await service.login(["audit.read"]);
    await ask(leaver.token, invite, { email: "again@example.com", roleId });
    await ask(admin.token, deactivate, { id: leaver.userId });
    const id = (await statusOf("again@example.com"))?.id;

    const lesser = await service.login(["invitations.create"]);
    expect(messageOf(await ask(lesser.token, resend, { id }))).toBe(
      "You cannot grant what you do not hold: audit.read",
    );
    const equal = await service.login(["invitations.create", "audit.read"]);
    expect((await ask(equal.token, resend, { id })).data.resendInvitation.status).toBe("pending");
    expect(await statusOf("again@example.com")).toMatchObject({
      state: "pending",
      invited_by_user_id: equal.userId,
    });
    await ask(admin.token, deactivate, { id: equal.userId });
    expect((await statusOf("again@example.com"))?.state).toBe("expired");
  });

  test("end also when they are created concurrently", async () => {
    const admin = await superadmin();
    const { roleId } = await service.login([]);
    for (let round = 0; round < 10; round++) {
      const leaver = await service.login(["invitations.create"]);
      const inviting = (some: string) =>
        [1, 2].map((number) =>
          ask(leaver.token, invite, { email: `${some}${number}.${round}@example.com`, roleId }),
        );
      await Promise.all([
        ...inviting("early"),
        ask(admin.token, deactivate, { id: leaver.userId }),
        ...inviting("late"),
      ]);
      expect(
        await sql("select from invitations where invited_by_user_id = $1 and state = 'pending'", [
          leaver.userId,
        ]),
      ).toEqual([]);
      expect(await isActive(leaver.userId)).toBe(false);
    }
  });
});
