import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

const unknownId = "00000000-0000-7000-8000-000000000000";
const updateUser = `mutation ($id: ID!, $input: UpdateUserInput!) {
  updateUser(id: $id, input: $input) { departmentId department { name } }
}`;

let service: Service;
let admin: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  admin = await service.login([
    "departments.read",
    "departments.update",
    "users.update",
    "users.read",
  ]);
});
afterAll(() => service.stop());

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await service.database.pool.query<T>(text, values)).rows;
const ask = (query: string, variables: Record<string, unknown> = {}, token = admin.token) =>
  service.ask(query, { token, variables });
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
});
const create = (input: Record<string, unknown>, token = admin.token) =>
  ask(
    `mutation ($input: CreateDepartmentInput!) { createDepartment(input: $input) { id name description } }`,
    { input },
    token,
  );
const created = async (name = `Department ${randomUUID()}`) =>
  (await create({ name })).data.createDepartment as { id: string; name: string };
const update = (id: string, input: Record<string, unknown>) =>
  ask(
    `mutation ($id: ID!, $input: UpdateDepartmentInput!) { updateDepartment(id: $id, input: $input) { name description } }`,
    { id, input },
  );
const remove = (id: string, token = admin.token) =>
  ask(`mutation ($id: ID!) { deleteDepartment(id: $id) }`, { id }, token);
/** A user in the department, with these permissions. */
async function member(departmentId: string, name: string, permissions: string[] = []) {
  const login = await service.login(permissions);
  await sql("update users set department_id = $1, name = $2 where id = $3", [
    departmentId,
    name,
    login.userId,
  ]);
  return login;
}

describe("departments", () => {
  test("are created, changed, listed by name and deleted", async () => {
    const answer = await create({ name: " Cellar ", description: "Keeps the wine" });
    const made = answer.data.createDepartment;
    expect(made).toMatchObject({ name: "Cellar", description: "Keeps the wine" });
    await create({ name: "Accounts" });
    expect((await update(made.id, { description: null })).data.updateDepartment).toEqual({
      name: "Cellar",
      description: null,
    });
    expect((await update(made.id, { name: "Warehouse" })).data.updateDepartment.name).toBe(
      "Warehouse",
    );
    const { data } = await ask(
      `query ($id: ID!) { departments { name } department(id: $id) { name } }`,
      {
        id: made.id,
      },
    );
    expect(data.departments).toEqual([{ name: "Accounts" }, { name: "Warehouse" }]);
    expect(data.department).toEqual({ name: "Warehouse" });
    expect((await remove(made.id)).data.deleteDepartment).toBe(true);
    expect(refusal(await remove(made.id))).toEqual({
      code: "NOT_FOUND",
      message: "There is no department with this id",
    });
    const rows = await sql<{ operation: string; actor_user_id: string }>(
      "select operation, actor_user_id from audit_log where entity_type = 'Department' and entity_id = $1 order by id",
      [made.id],
    );
    expect(rows.map((row) => row.operation)).toEqual(["CREATE", "UPDATE", "UPDATE", "DELETE"]);
    expect(rows.every((row) => row.actor_user_id === admin.userId)).toBe(true);
  });

  test("have names that are unique in any case, and not blank", async () => {
    await created("Sales");
    expect(refusal(await create({ name: "SALES" }))).toEqual({
      code: "CONFLICT",
      message: "A department of this name exists already.",
    });
    const blank = await create({ name: " \u00a0 " });
    expect(blank.errors?.[0]).toMatchObject({
      message: "name must be 1 to 80 visible characters without spaces at its ends",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "name"] },
    });
    const { id } = await created();
    expect((await update(id, { name: null })).errors?.[0]).toMatchObject({
      message: "name cannot be null",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "name"] },
    });
    expect(refusal(await update(unknownId, { name: "x" })).code).toBe("NOT_FOUND");
  });

  test("are visible with `departments.read` and can be changed with `departments.update`", async () => {
    const { token } = await service.login(["users.read", "departments.read"]);
    const missing = {
      code: "FORBIDDEN",
      message: "Missing required permission: departments.update",
    };
    const { id } = await created();
    expect(refusal(await create({ name: "x" }, token))).toEqual(missing);
    expect(refusal(await remove(id, token))).toEqual(missing);
    const other = await service.login(["users.read"]);
    expect(refusal(await ask(`{ departments { name } }`, {}, other.token))).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: departments.read",
    });
  });
});

describe("a user's department", () => {
  test("is set and cleared only with `users.update`, also by the user", async () => {
    const department = await created();
    const { userId, token } = await service.login([]);
    const set = await ask(updateUser, { id: userId, input: { departmentId: department.id } });
    expect(set.data.updateUser).toEqual({
      departmentId: department.id,
      department: { name: department.name },
    });
    expect(
      refusal(await ask(updateUser, { id: userId, input: { departmentId: null } }, token)),
    ).toEqual({
      code: "FORBIDDEN",
      message: "Missing required permission: users.update",
    });
    // Users can always see their own department.
    const me = await ask(`{ me { department { name } } }`, {}, token);
    expect(me.data.me).toEqual({ department: { name: department.name } });
    const renamed = await ask(updateUser, { id: userId, input: { name: "Ann" } }, token);
    expect(renamed.data.updateUser.departmentId).toBe(department.id);
    const cleared = await ask(updateUser, { id: userId, input: { departmentId: null } });
    expect(cleared.data.updateUser).toEqual({ departmentId: null, department: null });
  });

  test("must exist", async () => {
    const { userId } = await service.login([]);
    const answer = await ask(updateUser, { id: userId, input: { departmentId: unknownId } });
    expect(answer.errors?.[0]).toMatchObject({
      message: "departmentId: there is no department with this id",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "departmentId"] },
    });
  });

  test("is null after its deletion, and each change is in the audit log", async () => {
    const { id } = await created();
    const { userId } = await member(id, "Left behind");
    expect((await remove(id)).data.deleteDepartment).toBe(true);
    expect(await sql("select department_id from users where id = $1", [userId])).toEqual([
      { department_id: null },
    ]);
    const rows = await sql(
      `select before ->> 'departmentId' as before from audit_log
        where entity_type = 'User' and entity_id = $1 and actor_user_id = $2`,
      [userId, admin.userId],
    );
    expect(rows).toEqual([{ before: id }]);
  });

  test("is null for callers who can see the user but not departments", async () => {
    const { id } = await created();
    const { userId } = await member(id, "Seen");
    const reader = await service.login(["users.read"]);
    const query = `query ($id: ID!) { user(id: $id) { departmentId department { name } } }`;
    expect((await ask(query, { id: userId }, reader.token)).data.user).toEqual({
      departmentId: id,
      department: null,
    });
  });
});

describe("colleagues", () => {
  const query = `{ me { colleagues { name email } } }`;
  const names = ({ data, errors }: Answer) => {
    expect(errors).toBeUndefined();
    return (data.me.colleagues as { name: string }[]).map(({ name }) => name);
  };

  test("are the other active users of the caller's department, by name", async () => {
    const [ours, theirs] = [await created(), await created()];
    const me = await member(ours.id, "Me");
    await member(ours.id, "Zoe");
    await member(ours.id, "Abe");
    await member(theirs.id, "Stranger");
    const gone = await member(ours.id, "Gone");
    await sql("update users set is_active = false where id = $1", [gone.userId]);
    expect(names(await ask(query, {}, me.token))).toEqual(["Abe", "Zoe"]);
  });

  test("are none for a user without a department", async () => {
    const [one, another] = [await service.login([]), await service.login([])];
    expect(one.userId).not.toBe(another.userId);
    expect(names(await ask(query, {}, one.token))).toEqual([]);
  });

  test("need `departments.read` with a scoped token", async () => {
    const { id } = await created();
    const keys = ["departments.read", "users.read", "campaigns.read"];
    const me = await member(id, "Me", keys);
    await member(id, "Colleague");
    const withToken = async (scopes: string[] | null) => {
      const { token } = await insertApiToken(service.database, me.userId, scopes);
      return names(await ask(query, {}, token));
    };
    expect(await withToken(null)).toEqual(["Colleague"]);
    expect(await withToken(["departments.read"])).toEqual(["Colleague"]);
    for (const scope of ["campaigns.read", "users.read"]) {
      const { token } = await insertApiToken(service.database, me.userId, [scope]);
      const answer = await ask(query, {}, token);
      expect(answer.data).toEqual({ me: null });
      expect(refusal(answer)).toEqual({
        code: "FORBIDDEN",
        message: "Missing required permission: departments.read",
      });
    }
  });

  test("of another user are visible with `users.read`", async () => {
    const { id } = await created();
    const one = await member(id, "One");
    await member(id, "Two");
    const answer = await ask(`query ($id: ID!) { user(id: $id) { colleagues { name } } }`, {
      id: one.userId,
    });
    expect(answer.data.user.colleagues).toEqual([{ name: "Two" }]);
  });

  test("do not let a user without permissions list or look up users", async () => {
    const { id } = await created();
    const me = await member(id, "Me");
    const other = await member(id, "Other");
    const missing = { code: "FORBIDDEN", message: "Missing required permission: users.read" };
    expect(refusal(await ask(`{ users { id } }`, {}, me.token))).toEqual(missing);
    expect(
      refusal(
        await ask(`query ($id: ID!) { user(id: $id) { id } }`, { id: other.userId }, me.token),
      ),
    ).toEqual(missing);
    const roles = await ask(`{ me { colleagues { roles { name } } } }`, {}, me.token);
    expect(roles.data.me.colleagues).toEqual([{ roles: [] }]);
  });
});

describe("with a scoped token, the caller", () => {
  test("is returned by `me`, and by `user(id)` only with `users.read`", async () => {
    const me = await service.login(["users.read", "campaigns.read"], "scoped@example.com");
    const [reading, other] = await Promise.all([
      insertApiToken(service.database, me.userId, ["users.read"]),
      insertApiToken(service.database, me.userId, ["campaigns.read"]),
    ]);
    const byId = (token: string) =>
      ask(`query ($id: ID!) { user(id: $id) { email } }`, { id: me.userId }, token);
    expect((await byId(reading.token)).data.user).toEqual({ email: "scoped@example.com" });
    expect(refusal(await byId(other.token)).message).toBe(
      "Missing required permission: users.read",
    );
    expect((await ask(`{ me { email } }`, {}, other.token)).data.me).toEqual({
      email: "scoped@example.com",
    });
  });

  test("cannot change their own data, not even the name", async () => {
    const me = await service.login(["users.read"]);
    const { token } = await insertApiToken(service.database, me.userId, ["users.read"]);
    const rename = `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Eve" }) { name } }`;
    expect(refusal(await ask(rename, { id: me.userId }, token)).code).toBe("FORBIDDEN");
    expect((await ask(rename, { id: me.userId }, me.token)).data.updateUser).toEqual({
      name: "Eve",
    });
  });
});
