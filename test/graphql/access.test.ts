import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

describe("the first user", () => {
  test("has an e-mail address, and gets an error for a missing one", async () => {
    for (const email of ["root", " ", "root@example..com"]) {
      const answer = await service.ask(
        `mutation ($email: String!) { bootstrapFirstUser(email: $email) { token } }`,
        { variables: { email } },
      );
      expect(answer.errors).toMatchObject([
        {
          message:
            "email must be an e-mail address such as anna@example.com, 254 characters at most",
          extensions: { code: "BAD_USER_INPUT", path: ["email"] },
        },
      ]);
    }
  });

  test("becomes Superadmin once in fifty concurrent requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_value, index) =>
        service.ask(
          `mutation ($email: String!) { bootstrapFirstUser(email: $email) { token user { email isActive roles { name isSystem } } } }`,
          { variables: { email: `first${index}@example.com` } },
        ),
      ),
    );
    const made = answers.filter((answer) => answer.data);
    expect(made).toHaveLength(1);
    expect(made[0]?.data.bootstrapFirstUser.user).toMatchObject({
      isActive: true,
      roles: [{ name: "Superadmin", isSystem: true }],
    });
    for (const answer of answers.filter((a) => !a.data))
      expect(answer.errors?.[0]).toMatchObject({
        message: "The system has users already: log in, or ask a colleague for an invitation",
        extensions: { code: "CONFLICT" },
      });
  });
});

describe("a login", () => {
  test("identifies the caller until the logout", async () => {
    const { userId } = await service.login([], "dora@example.com");
    const login = await service.ask(
      `mutation { devLogin(email: "DORA@example.com") { token user { id } } }`,
    );
    expect(login.data.devLogin.user.id).toBe(userId);
    const { token } = login.data.devLogin;

    const me = await service.ask(`{ me { id email isActive } }`, { token });
    expect(me.data.me).toEqual({ id: userId, email: "dora@example.com", isActive: true });
    expect((await service.ask(`mutation { logout }`, { token })).data.logout).toBe(true);
    const after = await service.ask(`{ me { id } }`, { token });
    expect(after).toMatchObject({
      status: 200,
      data: { me: null },
      errors: [
        {
          message: "The token is unknown or has ended",
          path: ["me"],
          extensions: { code: "UNAUTHENTICATED" },
        },
      ],
    });
  });

  test("ends at the next request when its user is deactivated, and is not revived", async () => {
    const admin = await service.login(["users.update", "users.read"]);
    const { token, userId } = await service.login(["users.read"]);
    for (let round = 0; round < 20; round++) {
      const login = await service.ask(`mutation ($e: String!) { devLogin(email: $e) { token } }`, {
        variables: {
          e: (await service.ask(`{ me { email } }`, { token: round === 0 ? token : current() }))
            .data.me.email,
        },
      });
      const fresh = login.data.devLogin.token as string;
      const off = await service.ask(
        `mutation ($id: ID!) { deactivateUser(userId: $id) { isActive } }`,
        {
          token: admin.token,
          variables: { id: userId },
        },
      );
      expect(off.data.deactivateUser.isActive).toBe(false);
      expect((await service.ask(`{ me { id } }`, { token: fresh })).data.me).toBeNull();
      const on = await service.ask(
        `mutation ($id: ID!) { activateUser(userId: $id) { isActive } }`,
        {
          token: admin.token,
          variables: { id: userId },
        },
      );
      expect(on.data.activateUser.isActive).toBe(true);
      expect((await service.ask(`{ me { id } }`, { token: fresh })).data.me).toBeNull();
      const again = await service.ask(
        `mutation ($e: String!) { devLogin(email: $e) { token user { email } } }`,
        {
          variables: { e: await emailOf(userId) },
        },
      );
      latest = again.data.devLogin.token;
    }
  });
});

test("a login ignores the token of its request", async () => {
  const { userId } = await service.login([], "twice@example.com");
  const { token } = await service.login(["users.update"]);
  const login = `devLogin(email: "twice@example.com") { token user { id } }`;
  const answer = await service.ask(`mutation { ${login} }`, { token });
  expect(answer.errors).toBeUndefined();
  expect(answer.data.devLogin.user.id).toBe(userId);
  const { rows } = await service.database.pool.query(
    "select from audit_log where entity_type = 'Session' and operation = 'CREATE' and actor_user_id = $1",
    [userId],
  );
  expect(rows).toHaveLength(1);
  const mixed = await service.ask(`mutation { ${login} logout }`, { token });
  expect(mixed.errors).toMatchObject([
    { path: ["logout"], extensions: { code: "UNAUTHENTICATED" } },
  ]);
  expect((await service.ask(`{ me { id } }`, { token })).errors).toBeUndefined();
  const second = await service.ask(
    `mutation { bootstrapFirstUser(email: "x@example.com") { token } }`,
    {
      token,
    },
  );
  expect(second.errors).toMatchObject([{ extensions: { code: "CONFLICT" } }]);
});

let latest = "";
const current = () => latest;

async function emailOf(userId: string): Promise<string> {
  const { rows } = await service.database.pool.query<{ email: string }>(
    "select email from users where id = $1",
    [userId],
  );
  return rows[0]?.email ?? "";
}
