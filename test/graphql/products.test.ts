import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let token: string;

const rows = `
  insert into reviewers (name) values ('Anna Holm'), ('Bo Ek');
  insert into products (erp_product_number, name, vintage, wine_type_id, producer, grape_variety, country, is_active, created_at)
  select v.number, v.name, v.vintage, t.id, v.producer, v.grape, v.country, v.active, v.made::timestamptz
  from (values
    ('0001', 'Château Margaux', 2015, 'Red', 'Château Margaux', 'Cabernet Sauvignon', 'France', true, '2026-01-31T23:59:59.999999Z'),
    ('001', 'Gewürztraminer Réserve', 2016, 'White', 'Trimbach', 'Gewürztraminer', 'france', true, '2026-02-01T00:00:00Z'),
    ('1', '100% Pinot', null, null, 'L''Hermitage', 'Pinot Noir', 'FRANCE', false, '2026-03-01T00:00:00Z'),
    ('AB_C', 'Riesling (Dry)', 2015, 'White', 'Dr. Loosen', 'Riesling', 'Germany', true, '2025-01-01T00:00:00Z'),
    ('ABXC', 'Late Harvest Riesling', 2010, 'Red', null, null, null, true, '2025-01-02T00:00:00Z')
  ) as v(number, name, vintage, type, producer, grape, country, active, made)
  left join wine_types t on t.name = v.type;
  insert into product_prices (product_id, type, currency, amount)
  select p.id, 'retail', c, p.vintage / 10.0 from products p, unnest(array['DKK', 'EUR']) c where p.vintage is not null;
  insert into product_ratings (product_id, reviewer_id, year, points)
  select p.id, r.id, 2020, case r.name when 'Bo Ek' then 95 else 80 end
  from products p, reviewers r where p.vintage = 2015;`;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(rows);
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
    ['"(dry"*', ["AB_C"]],
    ['"late harvest"', ["ABXC"]],
    ['"harvest late"', []],
    ["riesling late", ["ABXC"]],
    ["riesling -late", ["AB_C"]],
    ["100%", ["1"]],
    ["%", ["1"]],
    ["_", []],
    ["\u0301", []],
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
    ["(vintage:2010 OR margaux) wineType.name:red", ["0001", "ABXC"]],
  ])("%s", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  test("an absent query and null mean everything, a blank one is refused", async () => {
    const document = `query ($query: String) { products(query: $query) ${numbers} }`;
    for (const variables of [{}, { query: null }]) {
      const { data } = await service.ask(document, { token, variables });
      expect(data.products.nodes).toHaveLength(5);
    }
    expect(await refused(document, { query: " " })).toMatchObject({ path: ["query"] });
    expect(await refused(`{ products(query: "") ${numbers} }`)).toMatchObject({ path: ["query"] });
  });

  test("what it does not understand is refused with position, length and the nearest names", async () => {
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

  test("related rows that the caller may not read are not found by", async () => {
    const caller = await service.login(["products.read"]);
    const document = `{ products(query: "ratings.points:>90") ${numbers} }`;
    expect((await service.ask(document, caller)).data.products.nodes).toEqual([]);
    expect((await service.ask(document, { token })).data.products.nodes).toHaveLength(2);
  });

  test("its description lists the fields with their operators", async () => {
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
  test("is null unless asked for, and follows the query but not the page", async () => {
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

  test("runs nothing when it is not asked for", async () => {
    const client = await service.database.pool.connect();
    try {
      // Whatever read the table would wait for the end of this transaction.
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

describe("pages", () => {
  const page = `query ($first: Int, $last: Int, $after: Cursor, $before: Cursor, $offset: Int, $orderBy: [ProductOrderBy!]) {
    products(first: $first, last: $last, after: $after, before: $before, offset: $offset, orderBy: $orderBy) {
      nodes { erpProductNumber } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

  async function read(variables: Record<string, unknown>) {
    const { data, errors } = await service.ask(page, { token, variables });
    expect(errors).toBeUndefined();
    const { nodes, pageInfo } = data.products;
    return {
      ...pageInfo,
      numbers: nodes.map((n: { erpProductNumber: string }) => n.erpProductNumber),
    };
  }

  const byName = ["1", "0001", "001", "ABXC", "AB_C"];

  test("follow the table's own order where none is given, whether absent, null or empty", async () => {
    for (const variables of [{}, { orderBy: null }, { orderBy: [] }])
      expect((await read(variables)).numbers).toEqual(byName);
    const literal = await service.ask(`{ products(orderBy: []) ${numbers} }`, { token });
    expect(
      literal.data.products.nodes.map((n: { erpProductNumber: string }) => n.erpProductNumber),
    ).toEqual(byName);
  });

  test.each([
    [null],
    [["VINTAGE_DESC"]],
    [["VINTAGE_ASC"]],
    [["ID_DESC", "NAME_ASC"]],
    [["PRIMARY_KEY_ASC"]],
    [["WINE_TYPE_ID_ASC", "VINTAGE_ASC"]],
  ])("one at a time, forwards and backwards, visit every row once in order %j", async (orderBy) => {
    const whole = (await read({ orderBy })).numbers;
    const forwards: string[] = [];
    let next = await read({ orderBy, first: 1 });
    for (
      ;
      next.numbers.length > 0;
      next = await read({ orderBy, first: 1, after: next.endCursor })
    ) {
      forwards.push(...next.numbers);
      expect(next.hasNextPage).toBe(forwards.length < 5);
    }
    const backwards: string[] = [];
    let previous = await read({ orderBy, last: 1 });
    for (
      ;
      previous.numbers.length > 0;
      previous = await read({ orderBy, last: 1, before: previous.startCursor })
    )
      backwards.unshift(...previous.numbers);
    expect(forwards).toEqual(whole);
    expect(backwards).toEqual(whole);
  });

  test("begin after the cursor, then pass over the offset", async () => {
    const { endCursor } = await read({ first: 1 });
    expect((await read({ after: endCursor, offset: 1, first: 2 })).numbers).toEqual(
      byName.slice(2, 4),
    );
    expect((await read({ before: (await read({ first: 3 })).endCursor })).numbers).toEqual(
      byName.slice(0, 2),
    );
  });

  test.each([
    [{ first: -1 }, "first", "first must be from 0 to 250"],
    [{ first: 251 }, "first", "first must be from 0 to 250"],
    [{ last: 251 }, "last", "last must be from 0 to 250"],
    [{ first: 1, last: 1 }, "last", "first and last cannot be used together"],
    [{ offset: -1 }, "offset", "offset must be 0 or more"],
    [{ last: 1, offset: 0 }, "offset", "offset and last cannot be used together"],
    [{ after: "garbage" }, "after", "after must be a cursor from an earlier answer"],
    [{ before: "" }, "before", "before must be a cursor from an earlier answer"],
    [
      { after: Buffer.from('["x",{}]').toString("base64") },
      "after",
      "after must be a cursor from an earlier answer",
    ],
  ])("refuse %j", async (variables, name, message) => {
    expect(await refused(page, variables)).toMatchObject({ message, path: [name] });
  });

  test("refuse bad arguments also where nothing of the page is read", async () => {
    expect(await refused("{ products(first: -1) { __typename } }")).toMatchObject({
      path: ["first"],
    });
    expect(await refused("{ products(first: -1) { totalCount } }")).toMatchObject({
      path: ["first"],
    });
  });

  test("refuse a cursor of another order", async () => {
    const { endCursor } = await read({ first: 1 });
    const { message } = await refused(page, { after: endCursor, orderBy: ["VINTAGE_ASC"] });
    expect(message).toBe(
      "after is a cursor of another order: it goes with the orderBy that it came from",
    );
  });

  test("hold 50 rows by default and 250 at most", async () => {
    await service.database.pool.query(
      "insert into products (erp_product_number, name) select 'many ' || i, 'Many ' || i from generate_series(1, 300) i",
    );
    expect((await read({})).numbers).toHaveLength(50);
    expect((await read({ first: 250 })).numbers).toHaveLength(250);
    const { endCursor } = await read({ first: 60 });
    expect((await read({ before: endCursor })).numbers).toHaveLength(50);
    await service.database.pool.query(
      "delete from products where erp_product_number like 'many %'",
    );
  });
});

describe("plain lists", () => {
  test("are whole and in their table's order unless a part is asked for", async () => {
    const { data } = await service.ask(
      `{ reviewers { name } part: reviewers(first: 1, offset: 1) { name } none: reviewers(first: 0) { name }
         turned: reviewers(orderBy: [ID_DESC]) { name } }`,
      { token },
    );
    expect(data).toEqual({
      reviewers: [{ name: "Anna Holm" }, { name: "Bo Ek" }],
      part: [{ name: "Bo Ek" }],
      none: [],
      turned: expect.anything(),
    });
  });

  test("of related rows have the same arguments", async () => {
    const { data } = await service.ask(
      `query ($n: Int) { products(query: "margaux") { nodes { prices { currency } one: prices(first: $n) { currency }
         last: prices(orderBy: [CURRENCY_DESC], first: 1) { currency } } } }`,
      { token, variables: { n: 1 } },
    );
    expect(data.products.nodes[0]).toEqual({
      prices: [{ currency: "DKK" }, { currency: "EUR" }],
      one: [{ currency: "DKK" }],
      last: [{ currency: "EUR" }],
    });
  });

  test.each([
    ["{ reviewers(first: -1) { id } }", "first", "first must be from 0 to 1000"],
    ["{ reviewers(first: 1001) { id } }", "first", "first must be from 0 to 1000"],
    ["{ reviewers(offset: -1) { id } }", "offset", "offset must be 0 or more"],
    [
      "{ products { nodes { prices(first: -1) { id } } } }",
      "first",
      "first must be from 0 to 1000",
    ],
  ])("refuse %s", async (document, name, message) => {
    expect(await refused(document)).toMatchObject({ message, path: [name] });
  });

  test("no enumeration of orders has a value that orders nothing", async () => {
    const { data } = await service.ask(`{ __schema { types { name kind enumValues { name } } } }`, {
      token,
    });
    const orders = data.__schema.types.filter((t: { name: string }) => t.name.endsWith("OrderBy"));
    expect(orders.length).toBeGreaterThan(3);
    expect(JSON.stringify(orders)).not.toContain("NATURAL");
  });
});
