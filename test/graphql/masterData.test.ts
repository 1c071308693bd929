import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { actAs, inTransaction } from "../helpers/database.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

// Staff maintain products, prices, images, reviewers and ratings individually.
const keys = ["products.read", "products.create", "products.update", "reviewers.create"];
const unknownId = "00000000-0000-7000-8000-000000000000";

let service: Service;
let staff: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  staff = await service.login([...keys, "audit.read"]);
});
afterAll(() => service.stop());

const ask = (query: string, variables: Record<string, unknown> = {}, token = staff.token) =>
  service.ask(query, { token, variables });
const make = (type: string, input: Record<string, unknown>, fields = "id", token = staff.token) =>
  ask(
    `mutation ($input: Create${type}Input!) { made: create${type}(input: $input) { ${fields} } }`,
    { input },
    token,
  );
const change = (
  type: string,
  id: string,
  input: Record<string, unknown>,
  fields = "id",
  token = staff.token,
) =>
  ask(
    `mutation ($id: ID!, $input: Update${type}Input!) { changed: update${type}(id: $id, input: $input) { ${fields} } }`,
    { id, input },
    token,
  );
const remove = (type: string, id: string, token = staff.token) =>
  ask(`mutation ($id: ID!) { gone: delete${type}(id: $id) }`, { id }, token);
const refusal = ({ errors }: Answer) => ({
  code: errors?.[0]?.extensions.code,
  message: errors?.[0]?.message,
  path: errors?.[0]?.extensions.path,
});
const idOf = async (answer: Promise<Answer>) => {
  const { data, errors } = await answer;
  expect(errors).toBeUndefined();
  return data.made.id as string;
};
const product = () => idOf(make("Product", { erpProductNumber: randomUUID(), name: "Chinon" }));
const reviewer = () => idOf(make("Reviewer", { name: `Reviewer ${randomUUID()}` }));
const missing = (key: string) => ({
  code: "FORBIDDEN",
  message: `Missing required permission: ${key}`,
});

describe("a product", () => {
  test("is created and changed by staff, and each change is audited", async () => {
    const input = {
      erpProductNumber: "00042",
      name: "Savennières",
      vintage: 2019,
      alcoholPercent: "13.50",
      stockQuantity: 12,
    };
    const shown = "id erpProductNumber name vintage alcoholPercent stockQuantity isActive";
    const made = await make("Product", input, shown);
    expect(made.errors).toBeUndefined();
    expect(made.data.made).toMatchObject({ ...input, isActive: true });
    const { id } = made.data.made;
    const changed = await change("Product", id, { isActive: false, vintage: null }, shown);
    expect(changed.data.changed).toMatchObject({ ...input, isActive: false, vintage: null });
    const { data } = await ask(
      `query ($id: String) { auditLogs(input: { entityType: "Product", entityId: $id }) { items { operation actorUserId before after } } }`,
      { id },
    );
    expect(data.auditLogs.items).toMatchObject([
      {
        operation: "UPDATE",
        actorUserId: staff.userId,
        before: { isActive: true, vintage: 2019 },
        after: { isActive: false, vintage: null },
      },
      { operation: "CREATE", after: expect.objectContaining({ erpProductNumber: "00042" }) },
    ]);
    expect(refusal(await make("Product", input))).toMatchObject({
      code: "CONFLICT",
      message: "A product with this ERP number exists already.",
    });
  });

  test("keeps its number, and its ERP timestamp cannot be set", async () => {
    const id = await product();
    for (const [verb, name] of [
      ["update", "erpProductNumber"],
      ["update", "sourceUpdatedAt"],
      ["create", "sourceUpdatedAt"],
    ] as const) {
      const value = name === "sourceUpdatedAt" ? "2026-01-31T12:00:00Z" : "1";
      const answer =
        verb === "create"
          ? await make("Product", { erpProductNumber: "1", name: "x", [name]: value })
          : await change("Product", id, { [name]: value });
      expect(refusal(answer)).toMatchObject({
        code: "BAD_USER_INPUT",
        message: expect.stringContaining(`"${name}" is not defined`),
      });
    }
    const sql = (text: string) =>
      inTransaction(service.database.pool, async (client) => {
        await actAs(client, { permissions: ["products.update"] });
        return client.query(text);
      });
    await expect(sql("update products set erp_product_number = 'x'")).rejects.toThrow(
      "permission denied",
    );
    await expect(sql("update products set source_updated_at = now()")).rejects.toThrow(
      "permission denied",
    );
  });

  test("cannot be deleted, only deactivated", async () => {
    const { data } = await ask(`{ __type(name: "Mutation") { fields { name } } }`);
    const names = (data.__type.fields as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["createProduct", "updateProduct"]));
    expect(names).not.toContain("deleteProduct");
  });

  test("rejects a value that violates a constraint or would be rounded", async () => {
    const wrong = (input: Record<string, unknown>) =>
      make("Product", { erpProductNumber: randomUUID(), name: "x", ...input }).then(refusal);
    expect(await wrong({ vintage: 99999 })).toEqual({
      code: "BAD_USER_INPUT",
      message: "vintage must be a year from 1700 to 2200",
      path: ["input", "vintage"],
    });
    expect(await wrong({ alcoholPercent: "12.345" })).toEqual({
      code: "BAD_USER_INPUT",
      message: "alcoholPercent can have 2 decimals at most",
      path: ["input", "alcoholPercent"],
    });
    expect(await wrong({ wineTypeId: unknownId })).toEqual({
      code: "BAD_USER_INPUT",
      message: "wineTypeId: there is no wine type with this id",
      path: ["input", "wineTypeId"],
    });
    const bad = [
      ...[
        "NaN",
        "Infinity",
        "-inf",
        "1e400",
        "1e9999",
        "strong",
        "",
        " 12",
        "12,5",
        "0x10",
        "1_0",
        "9".repeat(2_000),
      ],
      ...[true, {}, []],
    ];
    for (const alcoholPercent of bad)
      expect(await wrong({ alcoholPercent })).toEqual({
        code: "BAD_USER_INPUT",
        message: expect.stringContaining("alcoholPercent"),
        path: ["input", "alcoholPercent"],
      });
    expect(await wrong({ alcoholPercent: "1e10" })).toEqual({
      code: "BAD_USER_INPUT",
      message: "alcoholPercent can have 2 digits before the point at most",
      path: ["input", "alcoholPercent"],
    });
    for (const text of ['"strong"', "true", "1e400", "[1]"])
      expect(
        refusal(
          await ask(
            `mutation { createProduct(input: { erpProductNumber: "1", name: "x", alcoholPercent: ${text} }) { id } }`,
          ),
        ),
      ).toMatchObject({ code: "BAD_USER_INPUT", path: ["input", "alcoholPercent"] });
  });

  test("accepts decimals as strings and as numbers", async () => {
    for (const [sent, kept] of [
      ["12.50", "12.50"],
      ["+1.25e1", "12.50"],
      [".5", "0.50"],
      [13, "13.00"],
      [12.5, "12.50"],
    ] as const) {
      const input = { erpProductNumber: randomUUID(), name: "x", alcoholPercent: sent };
      expect((await make("Product", input, "alcoholPercent")).data.made.alcoholPercent).toBe(kept);
    }
    const { data } = await ask(
      `mutation { createProduct(input: { erpProductNumber: "${randomUUID()}", name: "x", alcoholPercent: 12.5 }) { alcoholPercent } }`,
    );
    expect(data.createProduct.alcoholPercent).toBe("12.50");
  });
});

/** The child types of a product, with valid values, a change, and the permission for writes. */
const parts = [
  {
    type: "ProductPrice",
    input: { type: "retail", currency: "DKK", amount: "129.95" },
    changes: { amount: "99.50" },
    key: "products.update",
  },
  {
    type: "ProductImage",
    input: { url: "https://images.example.com/chinon.jpg", altText: "A bottle", position: 2 },
    changes: { altText: null, position: 1 },
    key: "products.update",
  },
  {
    type: "ProductRating",
    input: { year: 2024, points: "93.50", review: "Long." },
    changes: { points: "94.00", review: null },
    key: "reviewers.create",
  },
] as const;
const inputOf = async ({ type, input }: (typeof parts)[number]) => ({
  ...input,
  productId: await product(),
  ...(type === "ProductRating" ? { reviewerId: await reviewer() } : {}),
});

describe.each(parts)("a $type", (part) => {
  const { type, changes, key } = part;
  const shown = `id product { id } ${Object.keys(part.input).join(" ")}`;

  test("is added to a product, changed and deleted, and each change is audited", async () => {
    const input = await inputOf(part);
    const made = await make(type, input, shown);
    expect(made.errors).toBeUndefined();
    const { id } = made.data.made;
    expect(made.data.made).toEqual({ id, product: { id: input.productId }, ...part.input });
    const changed = await change(type, id, changes, shown);
    expect(changed.data.changed).toEqual({ ...made.data.made, ...changes });
    expect((await remove(type, id)).data).toEqual({ gone: true });
    expect(refusal(await remove(type, id)).code).toBe("NOT_FOUND");
    const { rows } = await service.database.pool.query(
      "select operation, actor_user_id from audit_log where entity_type = $1 and entity_id = $2 order by created_at, id",
      [type, id],
    );
    expect(rows).toEqual(
      ["CREATE", "UPDATE", "DELETE"].map((operation) => ({
        operation,
        actor_user_id: staff.userId,
      })),
    );
  });

  test("is unique and belongs to an existing product", async () => {
    const input = await inputOf(part);
    expect((await make(type, input)).errors).toBeUndefined();
    expect(refusal(await make(type, input)).code).toBe("CONFLICT");
    expect(refusal(await make(type, { ...input, productId: unknownId }))).toEqual({
      code: "BAD_USER_INPUT",
      message: "productId: there is no product with this id",
      path: ["input", "productId"],
    });
  });

  test("cannot be moved to another product", async () => {
    const id = await idOf(make(type, await inputOf(part)));
    expect(refusal(await change(type, id, { productId: await product() })).message).toContain(
      '"productId" is not defined',
    );
  });

  test(`needs ${key} for each verb, also in the database`, async () => {
    const input = await inputOf(part);
    const id = await idOf(make(type, input));
    const others = await service.login([...keys.filter((one) => one !== key), "reviewers.read"]);
    for (const answer of [
      await make(type, { ...input, productId: await product() }, "id", others.token),
      await change(type, id, changes, "id", others.token),
      await remove(type, id, others.token),
    ])
      expect(refusal(answer)).toMatchObject(missing(key));
    const { token } = await service.login([key]);
    expect((await change(type, id, changes, "id", token)).errors).toBeUndefined();
    expect((await remove(type, id, token)).data).toEqual({ gone: true });
  });
});

describe("a price", () => {
  test.each([
    ["12.345", "amount can have 2 decimals at most"],
    ["-1", "amount must be a decimal from 0 to 999999999.99"],
    ["9999999999999", "amount can have 12 digits before the point at most"],
  ])("of %s is rejected", async (amount, message) => {
    const input = { productId: await product(), type: "retail", currency: "DKK", amount };
    expect(refusal(await make("ProductPrice", input))).toMatchObject({
      code: "BAD_USER_INPUT",
      message,
      path: ["input", "amount"],
    });
  });
});

describe("the address of a picture", () => {
  test.each([
    "http://images.example.com/a.jpg",
    "https://127.0.0.1/a.jpg",
    "https://2130706433/a.jpg",
    "https://0x7f.1/a.jpg",
    "https://[::1]/a.jpg",
    "https://[::ffff:10.0.0.1]/a.jpg",
    "https://localhost/a.jpg",
    "https://db/a.jpg",
    "https://files.internal/a.jpg",
    "https://metadata.google.internal./a.jpg",
    "https://user@example.com/a.jpg",
    "https://example.com\\@10.0.0.1/a.jpg",
    "https://169.254.169.254/latest",
  ])("cannot be %s, for a product or a person", async (url) => {
    const input = { productId: await product(), url };
    expect(refusal(await make("ProductImage", input))).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["input", "url"],
    });
    const id = await idOf(
      make("ProductImage", { ...input, url: "https://images.example.com/b.jpg" }),
    );
    expect(refusal(await change("ProductImage", id, { url })).code).toBe("BAD_USER_INPUT");

    const { userId, token } = await service.login([]);
    const portray = (avatarUrl: string | null) =>
      service.ask(
        `mutation ($id: ID!, $input: UpdateUserInput!) { updateUser(id: $id, input: $input) { avatarUrl } }`,
        { token, variables: { id: userId, input: { avatarUrl } } },
      );
    expect(refusal(await portray(url))).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["input", "avatarUrl"],
    });
    for (const public_ of ["https://images.example.com:8443/anna.png", null])
      expect((await portray(public_)).data.updateUser.avatarUrl).toBe(public_);
  });
});

describe("a reviewer", () => {
  test("is renamed, and deleted while it has no ratings", async () => {
    const id = await reviewer();
    const name = `Renamed ${randomUUID()}`;
    expect((await change("Reviewer", id, { name }, "name")).data.changed).toEqual({ name });
    const rating = { productId: await product(), reviewerId: id, points: "90.00" };
    const ratingId = await idOf(make("ProductRating", rating));
    expect(refusal(await remove("Reviewer", id))).toMatchObject({
      code: "CONFLICT",
      message: "Other rows still refer to this one: product ratings",
    });
    await remove("ProductRating", ratingId);
    expect((await remove("Reviewer", id)).data).toEqual({ gone: true });
  });

  test("cannot be changed with reviewers.read only", async () => {
    const id = await reviewer();
    const { token } = await service.login(["reviewers.read", "products.update"]);
    for (const answer of [
      await change("Reviewer", id, { name: "x" }, "id", token),
      await remove("Reviewer", id, token),
    ])
      expect(refusal(answer)).toMatchObject(missing("reviewers.create"));
  });
});
