import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { hiddenIn } from "../helpers/graphql/nestedFields.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

const fields = "id email status roleId expiresAt revokedAt mailedAt mailError createdAt";
const unknownId = "00000000-0000-7000-8000-000000000000";

let service: Service;
let inviter: { token: string; userId: string };
let roleId: string;

beforeAll(async () => {
  service = await startService();
  inviter = await service.login(["invitations.create", "invitations.read", "campaigns.read"]);
  ({ roleId } = await service.login(["campaigns.read"]));
});
afterAll(() => service.stop());

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await service.database.pool.query<T>(text, values)).rows;
const invite = (email: string, role = roleId, token = inviter.token) =>
  service.ask(
    `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { ${fields} } }`,
    { token, variables: { input: { email, roleId: role } } },
  );
const invited = async (email: string, role = roleId) =>
  (await invite(email, role)).data.createInvitation as Record<string, string>;
const act = (verb: "resend" | "revoke", id: string | undefined, token = inviter.token) =>
  service.ask(`mutation ($id: ID!) { ${verb}Invitation(id: $id) { ${fields} } }`, {
    token,
    variables: { id },
  });
const refusal = (answer: Answer) => ({
  code: answer.errors?.[0]?.extensions.code,
  message: answer.errors?.[0]?.message,
});
const jobsOf = (id: string | undefined) =>
  sql<{ payload: object; key: string; max_attempts: number }>(
    `select payload, key, max_attempts from graphile_worker._private_jobs
      where payload -> 'input' ->> 'invitationId' = $1`,
    [id],
  );
const rolesOf = async (email: string) =>
  (
    await sql<{ role_id: string }>(
      "select role_id from user_roles ur join users u on u.id = ur.user_id where u.email = $1",
      [email],
    )
  ).map((row) => row.role_id);
const expire = (id: string | undefined) =>
  sql("update invitations set expires_at = now() - interval '1 s' where id = $1", [id]);
const inAWeek = (moment: string | undefined) =>
  Math.abs(Date.parse(moment ?? "") - Date.now() - 7 * 24 * 60 * 60 * 1000) < 60_000;

const hasEnded = (invitation: Record<string, string>) =>
  invitation.status === "expired" && Date.parse(invitation.expiresAt ?? "") <= Date.now();

test("an invitation shows its role to callers with roles.read, and null after the role was deleted", async () => {
  const { id } = await invited("its-role@wine.example");
  const { token } = await service.login(["invitations.read", "roles.read"]);
  const roleFor = async (asked: string) => {
    const query = "{ invitations { id role { id } } }";
    const answer = await service.ask(query, { token: asked });
    const found = answer.data.invitations.find((one: { id: string }) => one.id === id);
    return { role: found.role, hidden: hiddenIn(answer) };
  };
  expect(await roleFor(token)).toEqual({ role: { id: roleId }, hidden: undefined });
  const { token: reader } = await service.login(["invitations.read"]);
  expect(await roleFor(reader)).toEqual({
    role: null,
    hidden: [{ path: ["invitations", "role"], requiredPermission: "roles.read" }],
  });
  const { roleId: deletedId } = await service.login(["campaigns.read"]);
  const { id: accepted } = await invited("role-deleted@wine.example", deletedId);
  await sql("update invitations set state = 'accepted', accepted_at = now() where id = $1", [
    accepted,
  ]);
  await sql("delete from roles where id = $1", [deletedId]);
  const { data } = await service.ask(`{ invitation(id: "${accepted}") { roleId role { id } } }`, {
    token,
  });
  expect(data.invitation).toEqual({ roleId: deletedId, role: null });
});

describe("createInvitation", () => {
  test("creates an inactive user with the role, a pending invitation, and a job that mails it", async () => {
    const answer = await service.ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { ${fields} } }`,
      {
        token: inviter.token,
        variables: { input: { email: " New@Example.com ", roleId } },
        headers: { "X-Correlation-Id": "invite-1" },
      },
    );
    const made = answer.data.createInvitation;
    expect(made).toMatchObject({
      email: "New@Example.com",
      status: "pending",
      roleId,
      revokedAt: null,
      mailedAt: null,
      mailError: null,
    });
    expect(inAWeek(made.expiresAt)).toBe(true);
    expect(await sql("select is_active from users where email = 'New@Example.com'")).toEqual([
      { is_active: false },
    ]);
    expect(await rolesOf("New@Example.com")).toEqual([roleId]);
    expect(await jobsOf(made.id)).toEqual([
      {
        payload: {
          tenant: "backoffice",
          correlationId: "invite-1",
          input: { invitationId: made.id },
        },
        key: `backoffice:send_invitation:${made.id}`,
        max_attempts: 12,
      },
    ]);
  });

  test("replaces an earlier invitation of the same address in another case", async () => {
    const first = await invited("again@example.com");
    const second = await invited("AGAIN@example.com");
    const { data } = await service.ask(`{ invitations { id status } }`, { token: inviter.token });
    const statuses = new Map(
      (data.invitations as { id: string; status: string }[]).map(({ id, status }) => [id, status]),
    );
    expect([statuses.get(first.id ?? ""), statuses.get(second.id ?? "")]).toEqual([
      "expired",
      "pending",
    ]);
    expect(await sql("select 1 from users where lower(email) = 'again@example.com'")).toHaveLength(
      1,
    );
    for (const verb of ["resend", "revoke"] as const)
      expect(refusal(await act(verb, first.id))).toEqual({
        code: "CONFLICT",
        message: "There is a newer invitation for this person",
      });
  });

  test("creates one user and one pending invitation in ten concurrent requests for an address", async () => {
    const email = "many@example.com";
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(email)));
    expect(answers.filter((answer) => answer.errors)).toEqual([]);
    const states = await sql<{ state: string }>("select state from invitations where email = $1", [
      email,
    ]);
    expect(states.filter(({ state }) => state === "pending")).toHaveLength(1);
    expect(states).toHaveLength(10);
  });

  test("of an active or deactivated user is a conflict", async () => {
    await service.login([], "working@example.com");
    expect(refusal(await invite("Working@example.com"))).toEqual({
      code: "CONFLICT",
      message: "An active user has this e-mail address already",
    });
    await sql("update users set is_active = false where email = 'working@example.com'");
    expect(refusal(await invite("working@example.com"))).toEqual({
      code: "CONFLICT",
      message: "A deactivated user has this e-mail address: activate that user instead",
    });
  });
});

describe("a person who was once active or deactivated", () => {
  const refused = {
    code: "CONFLICT",
    message: "A deactivated user has this e-mail address: activate that user instead",
  };
  const setActive = async (verb: "activate" | "deactivate", email: string, token: string) => {
    const [user] = await sql<{ id: string }>("select id from users where email = $1", [email]);
    const { errors } = await service.ask(
      `mutation ($id: ID!) { ${verb}User(userId: $id) { id } }`,
      { token, variables: { id: user?.id } },
    );
    expect(errors).toBeUndefined();
  };

  beforeAll(async () => {
    // A deactivation requires a remaining Superadmin.
    const { userId } = await service.login([]);
    await sql("insert into user_roles select $1, id from roles where name = 'Superadmin'", [
      userId,
    ]);
  });

  test("cannot be invited after a revoked invitation, an activation and a deactivation", async () => {
    const email = "returns@example.com";
    const admin = await service.login(["users.update", "campaigns.read"]);
    const { id } = await invited(email);
    expect((await act("revoke", id)).errors).toBeUndefined();
    await setActive("activate", email, admin.token);
    await setActive("deactivate", email, admin.token);
    expect(refusal(await invite(email))).toEqual(refused);
    expect(refusal(await act("resend", id))).toEqual(refused);
    expect(refusal(await act("revoke", id))).toEqual(refused);
    expect(await rolesOf(email)).toEqual([]);
  });

  test("cannot be invited after a deactivation without an activation", async () => {
    const email = "kept-out@example.com";
    const admin = await service.login(["users.update", "campaigns.read"]);
    const { id } = await invited(email);
    await setActive("deactivate", email, admin.token);
    expect(refusal(await invite(email))).toEqual(refused);
    expect(refusal(await act("resend", id))).toEqual(refused);
  });

  test("cannot be invited when only the database shows that they were active", async () => {
    const email = "long-gone@example.com";
    await invited(email);
    await sql("update users set is_active = true where email = $1", [email]);
    await sql("update users set is_active = false where email = $1", [email]);
    expect(refusal(await invite(email))).toEqual(refused);
  });
});

describe("resendInvitation", () => {
  test("renews an expired invitation for a week and mails it again", async () => {
    const { id } = await invited("resent@example.com");
    await sql(
      "select graphile_worker.complete_jobs(array(select id from graphile_worker._private_jobs))",
    );
    await sql("update invitations set mail_error = 'refused', mail_attempts = 3 where id = $1", [
      id,
    ]);
    await expire(id);
    const answer = await act("resend", id);
    expect(answer.data.resendInvitation).toMatchObject({
      id,
      status: "pending",
      mailedAt: null,
      mailError: null,
    });
    expect(inAWeek(answer.data.resendInvitation.expiresAt)).toBe(true);
    expect(await jobsOf(id)).toHaveLength(1);
    expect(
      await sql("select mail_number, mail_attempts from invitations where id = $1", [id]),
    ).toEqual([{ mail_number: 2, mail_attempts: 0 }]);
    // Again at once: still one job.
    await act("resend", id);
    expect(await jobsOf(id)).toHaveLength(1);
  });

  test("mails an invitation at most ten times", async () => {
    const { id } = await invited("bothered@example.com");
    await sql("update invitations set mail_number = 9 where id = $1", [id]);
    expect((await act("resend", id)).data.resendInvitation).toMatchObject({ id });
    expect(refusal(await act("resend", id))).toEqual({
      code: "CONFLICT",
      message: "This invitation was mailed ten times: ask the person whether they received it",
    });
  });

  test("of an accepted invitation is a conflict, also after the user's deactivation", async () => {
    const { id } = await invited("joined@example.com");
    await sql("update users set is_active = true where email = 'joined@example.com'");
    await sql("update invitations set state = 'accepted', accepted_at = now() where id = $1", [id]);
    const conflict = { code: "CONFLICT", message: "This invitation was accepted already" };
    expect(refusal(await act("resend", id))).toEqual(conflict);
    await sql("update users set is_active = false where email = 'joined@example.com'");
    expect(refusal(await act("resend", id))).toEqual(conflict);
    expect(refusal(await act("revoke", id))).toEqual(conflict);
  });

  test("needs all permissions that the person would get", async () => {
    const { id } = await invited("weak@example.com");
    const weak = await service.login(["invitations.create"]);
    const missing = {
      code: "FORBIDDEN",
      message: "You cannot grant what you do not hold: campaigns.read",
    };
    expect(refusal(await act("resend", id, weak.token))).toEqual(missing);
    expect(refusal(await invite("weaker@example.com", roleId, weak.token))).toEqual(missing);
    // A role that the person got meanwhile becomes effective with the invitation too.
    const { roleId: strong } = await service.login(["roles.delete"]);
    await sql("insert into user_roles select id, $1 from users where email = 'weak@example.com'", [
      strong,
    ]);
    expect(refusal(await act("resend", id)).message).toContain("roles.delete");
  });

  test("of an invitation whose role was deleted is a conflict", async () => {
    const [role] = await sql<{ id: string }>(
      "insert into roles (name) values ('Brief') returning id",
    );
    const { id } = await invited("roleless@example.com", role?.id);
    await expire(id);
    await sql("delete from roles where id = $1", [role?.id]);
    expect(refusal(await act("resend", id))).toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("was deleted"),
    });
  });
});

describe("expiresAt of an invitation that ends early", () => {
  const read = async (id: string | undefined) => {
    const { data } = await service.ask(`{ invitations { ${fields} } }`, { token: inviter.token });
    return (data.invitations as Record<string, string>[]).find((row) => row.id === id) ?? {};
  };

  test("is the time of its revocation", async () => {
    const { id } = await invited("ends-revoked@example.com");
    const revoked = (await act("revoke", id)).data.revokeInvitation;
    expect(hasEnded(revoked)).toBe(true);
    expect(revoked.expiresAt).toBe(revoked.revokedAt);
  });

  test("is the time at which a newer invitation replaces it", async () => {
    const { id } = await invited("ends-replaced@example.com");
    await invited("ends-replaced@example.com");
    expect(hasEnded(await read(id))).toBe(true);
  });

  test("is the time of its inviter's deactivation", async () => {
    const leaver = await service.login(["invitations.create", "campaigns.read"]);
    const { id } = (await invite("ends-inviter@example.com", roleId, leaver.token)).data
      .createInvitation;
    await sql("update users set is_active = false where id = $1", [leaver.userId]);
    expect(hasEnded(await read(id))).toBe(true);
  });

  test("is unchanged when the invitation had already expired", async () => {
    const { id } = await invited("ends-by-time@example.com");
    await expire(id);
    const { expiresAt } = await read(id);
    expect((await act("revoke", id)).data.revokeInvitation.expiresAt).toBe(expiresAt);
  });
});

describe("revokeInvitation", () => {
  test("ends the invitation and removes the role of the inactive person", async () => {
    const { id } = await invited("revoked@example.com");
    const answer = await act("revoke", id);
    expect(answer.data.revokeInvitation).toMatchObject({
      id,
      status: "expired",
      revokedAt: expect.stringMatching(/Z$/),
    });
    expect(await rolesOf("revoked@example.com")).toEqual([]);
    const again = await act("revoke", id);
    expect(again.data.revokeInvitation).toEqual(answer.data.revokeInvitation);
    expect(refusal(await act("resend", id))).toEqual({
      code: "CONFLICT",
      message: "This invitation was revoked: invite the person again",
    });
    expect((await invited("revoked@example.com")).status).toBe("pending");
    expect(await rolesOf("revoked@example.com")).toEqual([roleId]);
  });

  test("is in the audit log with its user, like resending", async () => {
    const { id } = await invited("audited@example.com");
    await act("resend", id);
    await act("revoke", id);
    const rows = await sql<{ actor_user_id: string; after: object }>(
      `select actor_user_id, after from audit_log
        where entity_type = 'Invitation' and entity_id = $1 and operation = 'UPDATE' order by id`,
      [id],
    );
    expect(rows).toMatchObject([
      { actor_user_id: inviter.userId, after: { mailNumber: 2 } },
      { actor_user_id: inviter.userId, after: { status: "expired" } },
    ]);
  });

  test("allows the deletion of the role that a pending invitation used", async () => {
    const [role] = await sql<{ id: string }>(
      "insert into roles (name) values ('Held') returning id",
    );
    const { id } = await invited("holder@example.com", role?.id);
    const admin = await service.login(["roles.delete"]);
    const remove = () =>
      service.ask(`mutation ($id: ID!) { deleteRole(id: $id) }`, {
        token: admin.token,
        variables: { id: role?.id },
      });
    expect(refusal(await remove()).code).toBe("CONFLICT");
    await act("revoke", id);
    expect((await remove()).data.deleteRole).toBe(true);
  });
});

test("an invitation is expired at once after its time, and the job stores that", async () => {
  const { id } = await invited("late@example.com");
  await expire(id);
  const status = async () =>
    (
      await service.ask(`query ($id: ID!) { invitation(id: $id) { status } }`, {
        token: inviter.token,
        variables: { id },
      })
    ).data.invitation.status;
  expect(await status()).toBe("expired");
  const state = () => sql("select state from invitations where id = $1", [id]);
  expect(await state()).toEqual([{ state: "pending" }]);
  await sql("select expire_invitations()");
  expect(await state()).toEqual([{ state: "expired" }]);
  expect(await status()).toBe("expired");
});

describe.each(["resend", "revoke"] as const)("%sInvitation", (verb) => {
  test("needs `invitations.create`, which can be a token's scope", async () => {
    const { id } = await invited(`${verb}.${randomUUID()}@example.com`);
    const reader = await service.login(["invitations.read"]);
    expect(refusal(await act(verb, id, reader.token))).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: invitations.create",
    });
    const scoped = await insertApiToken(service.database, inviter.userId, [
      "invitations.create",
      "campaigns.read",
    ]);
    expect((await act(verb, id, scoped.token)).data[`${verb}Invitation`].id).toBe(id);
  });

  test("of an unknown invitation is NOT_FOUND", async () => {
    expect(refusal(await act(verb, unknownId))).toEqual({
      code: "NOT_FOUND",
      message: "There is no invitation with this id",
    });
  });
});
