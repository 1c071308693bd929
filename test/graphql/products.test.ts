import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import { wineRows } from "../helpers/graphql/wines.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(wineRows);
  ({ token } = await service.login(["products.read", "reviewers.read"]));
});
afterAll(async () => {
  await service.stop();
});

const numbers = "{ nodes { erpProductNumber } }";

async function found(query: string): Promise<string[]> {
  const document = `query ($query: String) { products(query: $query) ${numbers} }`;
  const { data, errors } = await service.ask(document, { token, variables: { query } });
  expect(errors).toBeUndefined();
  return data.products.nodes
    .map((node: { erpProductNumber: string }) => node.erpProductNumber)
    .sort();
}

async function refused(document: string, variables?: Record<string, unknown>) {
  const { data, errors } = await service.ask(document, { token, variables });
  expect(data).toBeNull();
  expect(errors).toHaveLength(1);
  expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  return { message: errors?.[0]?.message, ...errors?.[0]?.extensions };
}

describe("the query argument", () => {
  test.each([
    ['erpProductNumber:IN("0001")', ["0001"]],
    ["erpProductNumber:1", ["1"]],
    ["erpProductNumber:ab_c", []],
    ["erpProductNumber:AB_*", ["AB_C"]],
    ["margaux", ["0001"]],
    ["MARGÁUX", ["0001"]],
    ["gewurztraminer", ["001"]],
    ["raminer", ["001"]],
    ["raminer*", []],
    ["gewurz*", ["001"]],
    ["hermitage*", ["1"]],
    ["dry*", ["AB_C"]],
    ["ra", []],
    ["ma", ["0001"]],
    ["MÁ", ["0001"]],
    ['"dr"', ["AB_C"]],
    ["ram", ["001"]],
    ['"(dry"*', ["AB_C"]],
    ['"late harvest"', ["ABXC"]],
    ['"harvest late"', []],
    ["riesling late", ["ABXC"]],
    ["riesling -late", ["AB_C"]],
    ["100%", ["1"]],
    ["100 %", ["1"]],
    ["vintage:2015 _", []],
    ["country:FRANCE", ["0001", "001", "1"]],
    ["country:IN(germany, france)", ["0001", "001", "1", "AB_C"]],
    ["name:late", []],
    ["name:late*", ["ABXC"]],
    ["vintage:2015", ["0001", "AB_C"]],
    ["-vintage:2015", ["001", "1", "ABXC"]],
    ["NOT vintage:*", ["1"]],
    ["vintage:[2010 TO 2015}", ["ABXC"]],
    ["vintage:(>2010 <2016)", ["0001", "AB_C"]],
    ["isActive:false", ["1"]],
    ["createdAt:2026-01", ["0001"]],
    ["createdAt:>2026-01-31", ["001", "1"]],
    ["createdAt:<=2026-01-31", ["0001", "ABXC", "AB_C"]],
    ["createdAt:<now-20y", []],
    ["wineType.name:whíte", ["001", "AB_C"]],
    ["-wineType.name:white", ["0001", "1", "ABXC"]],
    ["prices.amount:<201.5", ["ABXC"]],
    ["prices.amount:>=201.5 prices.currency:dkk", ["0001", "001", "AB_C"]],
    ['ratings.reviewer.name:"bo ek" ratings.points:>90', ["0001", "AB_C"]],
    ['ratings.reviewer.name:"anna holm" ratings.points:>90', ["0001", "AB_C"]],
    ['ratings:(reviewer.name:"anna holm" points:>90)', []],
    ['ratings:(reviewer.name:"bo ek" points:>90)', ["0001", "AB_C"]],
    ['ratings:(reviewer:(name:"bo ek") points:(>90 <=95))', ["0001", "AB_C"]],
    ["prices:(currency:DKK -type:wholesale amount:201.6)", ["001"]],
    ["-prices:(currency:DKK amount:201.6)", ["0001", "1", "ABXC", "AB_C"]],
    ["prices:(currency:SEK OR amount:[201 TO 201.5])", ["ABXC", "0001", "AB_C"].sort()],
    ["(vintage:2010 OR margaux) wineType.name:red", ["0001", "ABXC"]],
  ])("%s", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  test("an absent query and null match all rows, a blank one is rejected", async () => {
    const document = `query ($query: String) { products(query: $query) ${numbers} }`;
    for (const variables of [{}, { query: null }]) {
      const { data } = await service.ask(document, { token, variables });
      expect(data.products.nodes).toHaveLength(5);
    }
    expect(await refused(document, { query: " " })).toMatchObject({ path: ["query"] });
    expect(await refused(`{ products(query: "") ${numbers} }`)).toMatchObject({ path: ["query"] });
  });

  test("punctuation alone, which no index can find, is rejected at its position", async () => {
    for (const query of ["%", "_", "\u0301"])
      expect(
        await refused(`query ($query: String) { products(query: $query) ${numbers} }`, { query }),
      ).toMatchObject({ path: ["query"], position: 1, length: 1 });
  });

  test("rejects an invalid query with position, length and the nearest names", async () => {
    expect(await refused(`{ products(query: "margaux vintag:2015") ${numbers} }`)).toMatchObject({
      message:
        "query: `vintag` is not a field that can be searched (did you mean `vintage`?) at position 9",
      path: ["query"],
      position: 9,
      length: 6,
    });
    expect(await refused(`{ products(query: "(margaux") { totalCount } }`)).toMatchObject({
      position: 1,
    });
  });

  test("a query does not match by related rows that the caller cannot read", async () => {
    const caller = await service.login(["products.read"]);
    const document = `{ products(query: "ratings.points:>90") ${numbers} }`;
    expect((await service.ask(document, caller)).data.products.nodes).toEqual([]);
    expect((await service.ask(document, { token })).data.products.nodes).toHaveLength(2);
  });

  test("the argument's description lists the fields with their operators", async () => {
    const { data } = await service.ask(
      `{ __type(name: "Query") { fields { name args { name description } } } }`,
      { token },
    );
    const field = data.__type.fields.find((f: { name: string }) => f.name === "products");
    const { description } = field.args.find((arg: { name: string }) => arg.name === "query");
    expect(description).toContain("searched in `name`, `producer`, `grapeVariety`, `region`");
    expect(description).toMatch(/- whole number \(`>`.*\): .*`vintage`/);
    expect(description).toMatch(/- exact text .*`erpProductNumber`/);
    expect(description).toContain("`wineType.name`");
    expect(description).toContain("`ratings.reviewer.name`");
  });
});

describe("the total", () => {
  test("is null unless requested, and depends on the query but not on the page", async () => {
    const ask = (args: string, variables?: Record<string, unknown>) =>
      service.ask(
        `query ($all: Boolean = false) { products${args} { totalCount nodes { id } } unused: wineTypes @include(if: $all) { id } }`,
        { token, variables },
      );
    expect((await ask("(first: 1)")).data.products).toMatchObject({ totalCount: null });
    const counted = (await ask('(first: 1, query: "vintage:2015", includeTotalCount: true)')).data
      .products;
    expect(counted).toMatchObject({ totalCount: 2, nodes: [{}] });
    expect((await ask("(first: 0, includeTotalCount: $all)", { all: true })).data.products).toEqual(
      { totalCount: 5, nodes: [] },
    );
    expect(
      (await ask("(includeTotalCount: $all)", { all: false })).data.products.totalCount,
    ).toBeNull();
    const both = await service.ask(
      `{ a: products { totalCount } b: products(includeTotalCount: true) { totalCount } }`,
      { token },
    );
    expect(both.data).toEqual({ a: { totalCount: null }, b: { totalCount: 5 } });
  });

  test("runs no statement when it is not requested", async () => {
    const client = await service.database.pool.connect();
    try {
      // Any read of the table would wait for the end of this transaction.
      await client.query("begin; lock table products in access exclusive mode");
      const document = `query ($include: Boolean) { products(includeTotalCount: $include) { totalCount } }`;
      for (const variables of [{}, { include: false }, { include: null }]) {
        const { data } = await service.ask(document, { token, variables });
        expect(data.products.totalCount).toBeNull();
      }
      let answered = false;
      const waiting = service
        .ask(document, { token, variables: { include: true } })
        .finally(() => (answered = true));
      await service.ask("{ wineTypes { id } }", { token });
      expect(answered).toBe(false);
      await client.query("rollback");
      expect((await waiting).data.products.totalCount).toBe(5);
    } finally {
      client.release();
    }
  });
});
