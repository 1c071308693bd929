import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { seedDatabase } from "../../dev/access/seed.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type AskOptions, type Service, startService } from "../helpers/service.ts";
import { entry, hiddenIn } from "../helpers/graphql/nestedFields.ts";

let service: Service;

const ask = (query: string, options: AskOptions) => service.ask(query, options);

beforeAll(async () => {
  service = await startService();
  await seedDatabase(service.database.pool);
});
afterAll(() => service.stop());

describe("the fields of the caller's user", () => {
  const department = "00000000-0000-7000-8000-00000000d001";
  const member = async (permissions: string[]) => {
    const login = await service.login(permissions);
    await service.database.pool.query("update users set department_id = $1 where id = $2", [
      department,
      login.userId,
    ]);
    return login;
  };

  test("are readable without permissions, unlike relations of colleagues", async () => {
    const { token } = await member([]);
    const answer = await ask(
      "{ me { roles { name permissions { key } } department { name } colleagues { email roles { name } } campaigns { totalCount } } }",
      { token },
    );
    expect(answer.data.me).toMatchObject({ department: { name: "One" } });
    expect(answer.data.me.roles).toHaveLength(1);
    expect(answer.data.me.colleagues.length).toBeGreaterThan(0);
    expect(hiddenIn(answer)).toEqual([
      entry("me.colleagues.roles", "users.read"),
      entry("me.campaigns", "campaigns.read"),
    ]);
  });

  const asked = [
    ["{ me { department { name } } }", "department", { me: { department: null } }],
    ["{ me { colleagues { email } } }", "colleagues", { me: null }],
    ["{ me { colleagues(first: 1) { email } } }", "colleagues", { me: null }],
    [
      '{ me { department { name } } searchFields(type: "orders") { name } }',
      "department",
      { me: { department: null } },
    ],
  ] as const;
  test.each(asked)(
    "are an error for a scoped token without `departments.read`: %s",
    async (query, key, data) => {
      const { userId } = await member(["departments.read", "orders.read"]);
      const { token } = await insertApiToken(service.database, userId, ["orders.read"]);
      const answer = await ask(query, { token });
      expect(answer.data).toMatchObject(data);
      expect(answer.errors).toMatchObject([
        {
          message: "Missing required permission: departments.read",
          path: ["me", key],
          extensions: { code: "FORBIDDEN", requiredPermission: "departments.read" },
        },
      ]);
      expect(hiddenIn(answer)).toBeUndefined();
      const reader = await insertApiToken(service.database, userId, [
        "orders.read",
        "departments.read",
      ]);
      expect((await ask(query, { token: reader.token })).errors).toBeUndefined();
    },
  );

  test("are listed as hidden for other users, without an error for a scoped token", async () => {
    const { userId } = await member(["users.read"]);
    const { token } = await insertApiToken(service.database, userId, ["users.read"]);
    const answer = await ask("{ users { department { name } colleagues { email } } }", { token });
    expect(answer.errors).toBeUndefined();
    expect(hiddenIn(answer)).toEqual([
      entry("users.department", "departments.read"),
      entry("users.colleagues", "departments.read"),
    ]);
  });

  test("are readable through the caller's jobs", async () => {
    const { token } = await service.login([]);
    expect(
      hiddenIn(await ask("{ myJobs { nodes { user { email } } } }", { token })),
    ).toBeUndefined();
  });
});
