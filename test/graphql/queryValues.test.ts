import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let token: string;
const odd = 'Château "Le (Petit)" OR -x*';

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["products.read", "exports.create", "exports.read"]));
  await service.database.pool.query(
    `insert into products (erp_product_number, name, vintage, country, wine_type_id)
     select v.number, v.name, v.vintage, v.country, (select id from wine_types where name = 'Red')
     from (values ('1', $1, 2016, 'FR'), ('2', 'Barolo', 2019, 'IT'), ('3', 'Rioja', 2012, 'ES')) as v(number, name, vintage, country)`,
    [odd],
  );
});
afterAll(() => service.stop());

const products = async (query: string, queryValues: unknown, extra = "") => {
  const answer = await service.ask(
    `query ($query: String, $values: JSON) { products(query: $query, queryValues: $values) { nodes { name } } ${extra} }`,
    { token, variables: { query, values: queryValues } },
  );
  return {
    names: answer.data?.products.nodes.map(({ name }: { name: string }) => name),
    errors: answer.errors?.map(({ message, extensions }) => [message, extensions.path]),
  };
};

/** Grafast answers part of an operation with a plugin's field. */
describe.each([
  ["alone", ""],
  ["beside a field of a plugin", "mySessions { id }"],
])("queryValues, %s", (_case, extra) => {
  test.each([
    ["name:$name", { name: odd }, [odd]],
    ["vintage:>=$from", { from: 2015 }, ["Barolo", odd]],
    ["country:IN($countries)", { countries: ["IT", "ES"] }, ["Barolo", "Rioja"]],
    ["name:$start*", { start: "château" }, [odd]],
    ["wineType.name:$type -name:$name", { type: "Red", name: odd }, ["Barolo", "Rioja"]],
  ])("find the rows of %s", async (query, values, names) => {
    expect(await products(query, values, extra)).toEqual({ names, errors: undefined });
  });

  test.each([
    ["name:$nmae", { name: "x" }, ["query"]],
    ["name:$name", { name: "x", other: 1 }, ["queryValues", "other"]],
    ["name:$name", { name: {} }, ["queryValues", "name"]],
    [null, { name: "x" }, ["queryValues"]],
  ])("are rejected when %s does not fit %j", async (query, values, path) => {
    const { errors } = await products(query as string, values, extra);
    expect(errors).toEqual([[expect.any(String), path]]);
  });
});

/** A list that is compared as a whole; of shorter ones each value is looked up. */
const longList = (...values: string[]) => [
  ...Array.from({ length: 1000 - values.length }, (_, n) => `Wine ${n}`),
  ...values,
];

test.each([
  ["name:IN($list)", [odd, "Barolo"].sort()],
  ["-name:IN($list)", ["Rioja"]],
  ["name:IN($list) -country:FR", ["Barolo"]],
  ["wineType.name:IN($list)", []],
])("%s compares with each value of a long list, without case and accents", async (query, names) => {
  const list = longList("BARÓLO", odd.toUpperCase());
  const found = await products(query, { list });
  expect(found.errors).toBeUndefined();
  expect(found.names?.toSorted()).toEqual(names);
});

test("a literal value in the document is bound too", async () => {
  const { data } = await service.ask(
    `{ products(query: "name:$name", queryValues: { name: "Barolo" }) { nodes { vintage } } }`,
    { token },
  );
  expect(data.products.nodes).toEqual([{ vintage: 2019 }]);
});

test("an export by query accepts values", async () => {
  const { data } = await service.ask("{ exportTemplates { id name } }", { token });
  const { id } = data.exportTemplates.find(({ name }: { name: string }) => name === "Price list");
  const start = (queryValues: unknown) =>
    service.ask(
      `mutation ($input: CreateDataExportFromTemplateInput!) { createDataExportFromTemplate(input: $input) { totalRows } }`,
      { token, variables: { input: { templateId: id, query: "country:IN($c)", queryValues } } },
    );
  expect((await start({ c: ["FR", "IT"] })).data.createDataExportFromTemplate.totalRows).toBe(2);
  const refused = await start({ c: [] });
  expect(refused.errors?.[0]?.extensions.path).toEqual(["input", "queryValues", "c"]);
});
