import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

type Person = Awaited<ReturnType<Service["login"]>>;
const person = (permissions: string[] = []): Promise<Person> =>
  service.login(permissions, `person-${randomUUID()}@example.com`);
const ask = (query: string, variables: Record<string, unknown>, { token }: { token: string }) =>
  service.ask(query, { token, variables });
const create = (input: Record<string, unknown>, by: { token: string }) =>
  ask(
    `mutation ($input: CreateSavedViewInput!) {
      view: createSavedView(input: $input) { id name entity query orderBy columns roleId position userId }
    }`,
    { input: { name: "Italy", entity: "products", ...input } },
    by,
  );
const change = (id: string, input: Record<string, unknown>, by: { token: string }) =>
  ask(
    `mutation ($id: ID!, $input: UpdateSavedViewInput!) { view: updateSavedView(id: $id, input: $input) { id roleId } }`,
    { id, input },
    by,
  );
const remove = (id: string, by: { token: string }) =>
  ask(`mutation ($id: ID!) { gone: deleteSavedView(id: $id) }`, { id }, by);
const seen = async (by: { token: string }) =>
  (await ask(`{ savedViews { name ownerName role { name } } }`, {}, by)).data.savedViews;
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});
async function sql<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
  return (await service.database.pool.query<T>(text, values)).rows;
}

async function roleOf({ userId }: Person): Promise<{ id: string; name: string }> {
  const [role] = await sql<{ id: string; name: string }>(
    "select r.id, r.name from user_roles u join roles r on r.id = u.role_id where u.user_id = $1",
    [userId],
  );
  if (!role) throw new Error("The person has no role");
  return role;
}

describe("saved views", () => {
  test("are created, changed, deleted and restored by their owner, who needs no permission", async () => {
    const owner = await person();
    const { data } = await create(
      { query: "country:Italy", orderBy: ["VINTAGE_DESC"], columns: ["name", "vintage"] },
      owner,
    );
    expect(data.view).toEqual({
      id: expect.any(String),
      name: "Italy",
      entity: "products",
      query: "country:Italy",
      orderBy: ["VINTAGE_DESC"],
      columns: ["name", "vintage"],
      roleId: null,
      position: 0,
      userId: owner.userId,
    });
    const id = data.view.id as string;
    expect((await change(id, { name: "Italian" }, owner)).errors).toBeUndefined();
    expect(await seen(owner)).toMatchObject([{ name: "Italian" }]);
    expect((await remove(id, owner)).data.gone).toBe(true);
    expect(await seen(owner)).toEqual([]);
    const { deletions } = (await ask("{ deletions { auditLogId } }", {}, owner)).data;
    const restored = await ask(
      "mutation ($id: ID!) { restore(auditLogId: $id) }",
      { id: deletions[0].auditLogId },
      owner,
    );
    expect(restored.data.restore).toBe(1);
    expect(await seen(owner)).toMatchObject([{ name: "Italian" }]);
  });

  test("are hidden from others, who cannot change or delete them", async () => {
    const [owner, other] = [await person(), await person(["roles.update", "users.update"])];
    const id = (await create({}, owner)).data.view.id as string;
    expect(await seen(other)).toEqual([]);
    for (const answer of [await change(id, { name: "x" }, other), await remove(id, other)])
      expect(refusal(answer).code).toBe("NOT_FOUND");
  });

  test("are refused to scoped tokens, and open to others", async () => {
    const owner = await person(["products.read"]);
    const [scoped, unscoped] = [
      await insertApiToken(service.database, owner.userId, ["products.read"]),
      await insertApiToken(service.database, owner.userId),
    ];
    expect(refusal(await create({}, scoped)).code).toBe("FORBIDDEN");
    expect((await create({}, unscoped)).errors).toBeUndefined();
    expect(refusal(await ask("{ savedViews { id } }", {}, scoped)).code).toBe("FORBIDDEN");
  });

  test("with a role are shown to its holders, who cannot change them", async () => {
    const [owner, holder, other] = [await person(["roles.update"]), await person(), await person()];
    await sql("update users set name = 'Olga Owner' where id = $1", [owner.userId]);
    const [role, others] = [await roleOf(holder), await roleOf(other)];
    const shared = await create({ roleId: role.id }, owner);
    expect(shared.errors).toBeUndefined();
    const id = shared.data.view.id as string;
    expect(await seen(holder)).toEqual([
      { name: "Italy", ownerName: "Olga Owner", role: { name: role.name } },
    ]);
    expect(await seen(other)).toEqual([]);
    expect(refusal(await change(id, { name: "x" }, holder))).toEqual({
      code: "FORBIDDEN",
      message: "Only the owner of this saved view may update it",
      path: ["id"],
    });
    expect(refusal(await remove(id, holder)).code).toBe("FORBIDDEN");
    await change(id, { roleId: others.id }, owner);
    expect([await seen(holder), await seen(other)]).toEqual([
      [],
      [expect.objectContaining({ name: "Italy" })],
    ]);
  });

  test("are shared only with roles.update, and stay the owner's when the role is deleted", async () => {
    const [owner, boss] = [await person(), await person(["roles.update", "roles.delete"])];
    const { id: roleId } = await roleOf(owner);
    const refused = {
      code: "FORBIDDEN",
      message: "To share a view with a role, you need the permission roles.update",
      path: ["input", "roleId"],
    };
    expect(refusal(await create({ roleId }, owner))).toEqual(refused);
    const own = (await create({}, owner)).data.view.id as string;
    expect(refusal(await change(own, { roleId }, owner))).toEqual(refused);
    const [made] = await sql<{ id: string }>("insert into roles (name) values ($1) returning id", [
      randomUUID(),
    ]);
    const shared = (await create({ roleId: made!.id }, boss)).data.view.id as string;
    const deleted = await ask(
      "mutation ($id: ID!) { deleteRole(id: $id) }",
      { id: made!.id },
      boss,
    );
    expect(deleted.errors).toBeUndefined();
    expect(await sql("select role_id from saved_views where id = $1", [shared])).toEqual([
      { role_id: null },
    ]);
  });

  test.each([
    ["name", " Italy", "name must be 1 to 100 visible characters without spaces at its ends"],
    ["entity", "Wine types", "entity must be the name of a list, such as `products`"],
    ["query", "", "query must be 1 to 4000 characters, or null"],
    [
      "orderBy",
      ["name desc"],
      "orderBy must be at most 10 values of `orderBy`, such as `NAME_ASC`",
    ],
    ["columns", ["a b"], "columns must be at most 200 names of fields, such as `name`"],
    [
      "columns",
      Array.from({ length: 201 }, (_, index) => `c${index}`),
      "columns must be at most 200 names of fields, such as `name`",
    ],
  ])("refuse a wrong %s", async (field, value, message) => {
    expect(refusal(await create({ [field]: value }, await person()))).toEqual({
      code: "BAD_USER_INPUT",
      message,
      path: ["input", field],
    });
  });

  test("are at most 200 per user", async () => {
    const owner = await person();
    await sql(
      "insert into saved_views (user_id, name, entity) select $1, n::text, 'products' from generate_series(1, 199) n",
      [owner.userId],
    );
    const answers = await Promise.all([create({}, owner), create({}, owner)]);
    expect(answers.flatMap(({ errors }) => errors ?? []).map(({ message }) => message)).toEqual([
      "You have 200 saved views: delete one first",
    ]);
  });

  test("that are shared are changed only with roles.update, and made private without it", async () => {
    const owner = await person();
    const { id: roleId } = await roleOf(owner);
    const [view] = await sql<{ id: string }>(
      "insert into saved_views (user_id, name, entity, role_id) values ($1, 'Ours', 'products', $2) returning id",
      [owner.userId, roleId],
    );
    const { id } = view!;
    for (const input of [{ name: "Mine" }, { query: "country:Italy" }, { columns: ["name"] }])
      expect(refusal(await change(id, input, owner))).toEqual({
        code: "FORBIDDEN",
        message:
          "To change a view that is shared with a role, you need the permission roles.update",
        path: ["id"],
      });
    expect((await change(id, { roleId: null, name: "Mine" }, owner)).errors).toBeUndefined();
  });

  test("are shared again when their role, or they, are restored", async () => {
    const [owner, boss] = [
      await person(),
      await person(["roles.create", "roles.delete", "roles.read"]),
    ];
    const [made] = await sql<{ id: string }>("insert into roles (name) values ($1) returning id", [
      randomUUID(),
    ]);
    await sql(
      "insert into saved_views (user_id, name, entity, role_id) values ($1, 'Ours', 'products', $2)",
      [owner.userId, made!.id],
    );
    const restore = async (by: { token: string }) => {
      const { deletions } = (await ask("{ deletions { auditLogId } }", {}, by)).data;
      const { auditLogId } = deletions[0] as { auditLogId: string };
      return ask("mutation ($id: ID!) { restore(auditLogId: $id) }", { id: auditLogId }, by);
    };
    const roleOfView = () =>
      sql<{ id: string; role: string | null }>(
        "select id, role_id as role from saved_views where user_id = $1",
        [owner.userId],
      );
    await ask("mutation ($id: ID!) { deleteRole(id: $id) }", { id: made!.id }, boss);
    expect((await roleOfView())[0]?.role).toBeNull();
    expect((await restore(boss)).errors).toBeUndefined();
    expect((await roleOfView())[0]?.role).toBe(made!.id);
    await remove((await roleOfView())[0]!.id, owner);
    expect((await restore(owner)).errors).toBeUndefined();
    expect((await roleOfView())[0]?.role).toBe(made!.id);
  });

  test("of an erased user leave no text in the audit log; shared ones go to whoever erases", async () => {
    const [former, boss] = [await person(), await person(["users.update", "users.read"])];
    const { id: roleId } = await roleOf(boss);
    const secret = randomUUID();
    const mine = (await create({ name: secret, query: `name:"${secret}"` }, former)).data.view;
    await sql(
      "insert into saved_views (user_id, name, entity, role_id) values ($1, 'Ours', 'products', $2)",
      [former.userId, roleId],
    );
    await sql("update users set is_active = false where id = $1", [former.userId]);
    const erased = await ask(
      "mutation ($id: ID!) { anonymiseUser(userId: $id) { id } }",
      { id: former.userId },
      boss,
    );
    expect(erased.errors).toBeUndefined();
    const rows = await sql<{ text: string }>(
      "select concat(before, after) as text from audit_log where entity_id = $1",
      [mine.id],
    );
    expect(rows).toHaveLength(2);
    expect(rows.filter(({ text }) => text.includes(secret))).toEqual([]);
    expect(
      await sql("select name, user_id as owner from saved_views where role_id = $1", [roleId]),
    ).toEqual([{ name: "Ours", owner: boss.userId }]);
  });

  test("are not handed over beyond the limit", async () => {
    const [from, to, boss] = [await person(), await person(), await person(["users.update"])];
    const { id: roleId } = await roleOf(from);
    await sql(
      `insert into saved_views (user_id, name, entity, role_id)
       select $1::uuid, n::text, 'products', null::uuid from generate_series(1, 200) n
       union all select $2, 'Ours', 'products', $3`,
      [to.userId, from.userId, roleId],
    );
    const answer = await ask(
      "mutation ($from: ID!, $to: ID!) { handOver(fromUserId: $from, toUserId: $to) { views } }",
      { from: from.userId, to: to.userId },
      boss,
    );
    expect(refusal(answer)).toMatchObject({
      code: "CONFLICT",
      message: expect.stringMatching(
        /has 1 shared view and .* has 200, and a person can have 200: one of them must delete 1 first/,
      ) as unknown,
      path: ["toUserId"],
    });
  });
});
