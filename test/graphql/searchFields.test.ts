import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

const query = `query ($type: String!) { searchFields(type: $type) { name kind operators isWordField values isList isToMany description } }`;

test("lists the search fields of each connection, and every listed field can be searched", async () => {
  const { token } = await service.login(["products.read", "orders.read", "customers.read"]);
  for (const type of ["products", "orders", "customers"]) {
    const { data, errors } = await service.ask(query, { token, variables: { type } });
    expect(errors).toBeUndefined();
    const fields = data.searchFields as { name: string; kind: string }[];
    expect(fields.length).toBeGreaterThan(10);
    const set = fields.map(({ name }) => `${name}:*`);
    for (let at = 0; at < set.length; at += 50) {
      const asked = await service.ask(
        `query ($query: String!) { ${type}(query: $query) { nodes { id } } }`,
        { token, variables: { query: set.slice(at, at + 50).join(" OR ") } },
      );
      expect(asked.errors).toBeUndefined();
    }
  }
});

test("lists the fields of the next row of the same table, and no further ones", async () => {
  const { token } = await service.login(["orders.read"]);
  const { data } = await service.ask(query, { token, variables: { type: "orders" } });
  const names = data.searchFields.map(({ name }: { name: string }) => name);
  expect(names).toContain("supersededBy.status");
  expect(names.filter((name: string) => /^supersededBy\..*\./.test(name))).toEqual([]);
});

test("contains kinds, operators, word fields and the values of enumerations", async () => {
  const { token } = await service.login(["products.read", "orders.read"]);
  const { data } = await service.ask(query, { token, variables: { type: "products" } });
  const named = (name: string) =>
    data.searchFields.find((field: { name: string }) => field.name === name);
  expect(named("vintage")).toEqual({
    name: "vintage",
    kind: "INTEGER",
    operators: [":", "IN", "*", ">", ">=", "<", "<=", "[TO]", "{TO}"],
    isWordField: false,
    values: [],
    isList: false,
    isToMany: false,
    description: "The year of the harvest; null for wines without a vintage.",
  });
  expect(named("ratings.points")).toMatchObject({
    isToMany: true,
    description: "The points, from 0 to 100, a decimal as text.",
  });
  expect(named("wineType.name").isToMany).toBe(false);
  expect(named("name")).toMatchObject({ kind: "TEXT", isWordField: true });
  expect(named("erpProductNumber").kind).toBe("EXACT");
  expect(named("wineType.name")).toMatchObject({ kind: "TEXT", isWordField: false });
  const orders = await service.ask(query, { token, variables: { type: "orders" } });
  expect(
    orders.data.searchFields.find((field: { name: string }) => field.name === "status").values,
  ).toContain("SHIPPED");
});

test("is rejected without the permission to read the connection, and for an unknown connection", async () => {
  const { token } = await service.login(["products.read"]);
  const refused = await service.ask(query, { token, variables: { type: "orders" } });
  expect(refused.errors?.[0]).toMatchObject({
    message: "Missing required permission: orders.read",
    extensions: { code: "FORBIDDEN" },
  });
  for (const type of ["prodcts", "__proto__", "productPrices"])
    expect((await service.ask(query, { token, variables: { type } })).errors?.[0]).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", path: ["type"] },
    });
});
