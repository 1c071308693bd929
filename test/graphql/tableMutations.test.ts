import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { actAs, inTransaction } from "../helpers/database.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

// Mutations that the tag `@mutations` of a table offers, on wine types and reviewers.
const unknownId = "00000000-0000-7000-8000-000000000000";

let service: Service;
let staff: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  staff = await service.login(["products.read", "products.create", "products.update"]);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown> = {}, token = staff.token) =>
  service.ask(query, { token, variables });
const create = (input: Record<string, unknown>, token = staff.token) =>
  ask(
    `mutation ($input: CreateWineTypeInput!) { createWineType(input: $input) { id name color } }`,
    { input },
    token,
  );
const created = async (name = `Type ${randomUUID()}`, color?: string) =>
  (await create({ name, color })).data.createWineType as { id: string; name: string };
const update = (id: string, input: Record<string, unknown>, token = staff.token) =>
  ask(
    `mutation ($id: ID!, $input: UpdateWineTypeInput!) { updateWineType(id: $id, input: $input) { name color } }`,
    { id, input },
    token,
  );
const remove = (id: string, token = staff.token) =>
  ask(`mutation ($id: ID!) { deleteWineType(id: $id) }`, { id }, token);
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});
const auditOf = async (id: string) =>
  (
    await service.database.pool.query(
      `select operation, actor_user_id, before, after, metadata ->> 'source' as source
       from audit_log where entity_type = 'WineType' and entity_id = $1 order by created_at, id`,
      [id],
    )
  ).rows as Record<string, unknown>[];

describe("mutations of a table's tag", () => {
  test("create, update and delete a row, each of them in the audit log", async () => {
    const made = await create({ name: "Orange", color: "#FFA500" });
    const { id } = made.data.createWineType;
    expect(made.data.createWineType).toEqual({ id, name: "Orange", color: "#FFA500" });
    expect((await update(id, { color: "#FF8000" })).data.updateWineType).toEqual({
      name: "Orange",
      color: "#FF8000",
    });
    expect((await remove(id)).data).toEqual({ deleteWineType: true });
    const byUs = { actor_user_id: staff.userId, source: "api" };
    expect(await auditOf(id)).toEqual([
      {
        ...byUs,
        operation: "CREATE",
        before: null,
        after: expect.objectContaining({ name: "Orange" }),
      },
      { ...byUs, operation: "UPDATE", before: { color: "#FFA500" }, after: { color: "#FF8000" } },
      {
        ...byUs,
        operation: "DELETE",
        before: expect.objectContaining({ name: "Orange" }),
        after: null,
      },
    ]);
  });

  test("require only columns without a default", async () => {
    expect(refusal(await create({ color: "#FFA500" }))).toMatchObject({
      code: "BAD_USER_INPUT",
      message: expect.stringContaining("name"),
    });
    for (const name of ["id", "createdAt", "updatedAt"])
      expect(refusal(await create({ name: "x", [name]: unknownId })).message).toContain(
        `"${name}"`,
      );
    expect(refusal(await create({ name: null })).code).toBe("BAD_USER_INPUT");
  });

  test("keep omitted fields, and clear fields that are null", async () => {
    const { id, name } = await created(undefined, "#112233");
    expect((await update(id, { name: `${name}!` })).data.updateWineType.color).toBe("#112233");
    expect((await update(id, { color: null })).data.updateWineType).toEqual({
      name: `${name}!`,
      color: null,
    });
  });

  test("return the row for an empty update and write nothing", async () => {
    const { id, name } = await created();
    expect((await update(id, {})).data.updateWineType).toEqual({ name, color: null });
    expect(await auditOf(id)).toHaveLength(1);
    expect(refusal(await update(unknownId, {})).code).toBe("NOT_FOUND");
  });

  test("keep the time of the last change without changes", async () => {
    const { id, name } = await created(undefined, "#ABCDEF");
    const changedAt = async () =>
      (await ask("{ wineTypes { id updatedAt } }")).data.wineTypes.find(
        (row: { id: string }) => row.id === id,
      ).updatedAt as string;
    const before = await changedAt();
    for (const input of [{ name }, { color: "#abcdef" }])
      expect((await update(id, input)).data.updateWineType).toEqual({ name, color: "#ABCDEF" });
    expect(await changedAt()).toBe(before);
    await update(id, { color: "#abcdee" });
    expect(Date.parse(await changedAt())).toBeGreaterThan(Date.parse(before));
  });

  test("store colours in capitals, like campaigns", async () => {
    const made = await create({ name: "Skin contact", color: "#ffa50a" });
    expect(made.data.createWineType.color).toBe("#FFA50A");
    const { id } = made.data.createWineType;
    expect((await update(id, { color: "#ff800b" })).data.updateWineType.color).toBe("#FF800B");
  });

  test("reject null for a required field, and a constraint violation, with the field's path", async () => {
    const { id } = await created();
    expect(refusal(await update(id, { name: null }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "name is required",
      path: ["input", "name"],
    });
    expect(refusal(await update(id, { color: "red" }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "color must be a colour such as #7A0019",
      path: ["input", "color"],
    });
    expect(refusal(await create({ name: "\u00a0" }))).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["input", "name"],
    });
    expect(refusal(await create({ name: "a\u0000b" })).code).toBe("BAD_USER_INPUT");
  });

  test("reject an unknown id as NOT_FOUND and a malformed one before the operation runs", async () => {
    const missing = {
      code: "NOT_FOUND",
      message: "There is no wine type with this id",
      path: ["id"],
    };
    expect(refusal(await update(unknownId, { name: "x" }))).toEqual(missing);
    expect(refusal(await remove(unknownId))).toEqual(missing);
    expect(refusal(await remove("1")).code).toBe("BAD_USER_INPUT");
  });

  test("reject a taken name as CONFLICT, also in concurrent requests", async () => {
    const { name } = await created();
    const taken = {
      code: "CONFLICT",
      message: "A wine type of this name exists already.",
      path: ["input", "name"],
    };
    expect(refusal(await create({ name: name.toUpperCase() }))).toMatchObject(taken);
    const other = await created();
    expect(refusal(await update(other.id, { name }))).toMatchObject(taken);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name: "At once" })));
    expect(answers.filter(({ errors }) => errors === undefined)).toHaveLength(1);
    for (const answer of answers) if (answer.errors) expect(refusal(answer)).toMatchObject(taken);
  });

  test("reject the deletion of a referenced row as CONFLICT", async () => {
    const { id, name } = await created();
    const synced = await ask(
      `mutation ($type: String!) { syncProducts(input: { products: [{ erpProductNumber: "1", fields: { name: "A", wineType: $type } }] }) { failedCount } }`,
      { type: name },
    );
    expect(synced.data.syncProducts.failedCount).toBe(0);
    expect(refusal(await remove(id))).toMatchObject({
      code: "CONFLICT",
      message: "Other rows still refer to this one: products",
    });
    expect((await update(id, {})).data.updateWineType.name).toBe(name);
  });

  test("need the table's permission for the verb", async () => {
    const { id } = await created();
    const missing = (key: string) => ({
      code: "FORBIDDEN",
      message: `Missing required permission: ${key}`,
    });
    const creator = await service.login(["products.read", "products.create"]);
    expect(refusal(await update(id, { name: "x" }, creator.token))).toMatchObject(
      missing("products.update"),
    );
    expect(refusal(await remove(id, creator.token))).toMatchObject(missing("products.update"));
    const changer = await service.login(["products.read", "products.update"]);
    expect(refusal(await create({ name: "x" }, changer.token))).toMatchObject(
      missing("products.create"),
    );
    // The creator gets the created row without a read permission.
    const only = await service.login(["products.create"]);
    expect((await create({ name: "Only made" }, only.token)).data.createWineType.name).toBe(
      "Only made",
    );
    expect(
      (await service.ask(`mutation { deleteWineType(id: "${id}") }`)).errors?.[0]?.extensions.code,
    ).toBe("UNAUTHENTICATED");
    expect(await auditOf(id)).toHaveLength(1);
  });

  test("are protected by row-level security", async () => {
    const { id } = await created();
    const act = (permissions: string[], text: string) =>
      inTransaction(service.database.pool, async (client) => {
        await actAs(client, { permissions });
        return (await client.query(text)).rowCount;
      });
    const insert = `insert into wine_types (name) values ('Smuggled')`;
    await expect(act(["products.read", "products.update"], insert)).rejects.toThrow(
      "row-level security",
    );
    expect(await act(["products.create"], insert)).toBe(1);
    for (const text of [
      `update wine_types set name = 'Smuggled' where id = '${id}'`,
      `delete from wine_types where id = '${id}'`,
    ]) {
      expect(await act(["products.read", "products.create"], text)).toBe(0);
      expect(await act(["products.update"], text)).toBe(1);
    }
    await expect(
      act(["products.update"], `update wine_types set created_at = now() where id = '${id}'`),
    ).rejects.toThrow("permission denied");
  });

  test("exist only for the verbs of the tag", async () => {
    const { data } = await ask(`{ __type(name: "Mutation") { fields { name } } }`);
    const names = (data.__type.fields as { name: string }[]).map(({ name }) => name);
    expect(names.filter((name) => /Reviewer$|WineType$/.test(name))).toEqual([
      "createReviewer",
      "createWineType",
      "updateReviewer",
      "updateWineType",
      "deleteReviewer",
      "deleteWineType",
    ]);
    const reviewer = await service.login(["reviewers.create"]);
    const text = `mutation { createReviewer(input: { name: "Jancis" }) { name } }`;
    expect((await ask(text, {}, reviewer.token)).data).toEqual({
      createReviewer: { name: "Jancis" },
    });
    expect(refusal(await ask(text))).toMatchObject({
      code: "FORBIDDEN",
      message: "Missing required permission: reviewers.create",
    });
  });
});
