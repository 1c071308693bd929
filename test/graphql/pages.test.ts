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

async function refused(document: string, variables?: Record<string, unknown>) {
  const { data, errors } = await service.ask(document, { token, variables });
  expect(data).toBeNull();
  expect(errors).toHaveLength(1);
  expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  return { message: errors?.[0]?.message, ...errors?.[0]?.extensions };
}

/** A forged cursor. */
function cursorOf(...values: [column: string, value: unknown][]): string {
  return Buffer.from(JSON.stringify(["made up", ...values])).toString("base64");
}

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

  test("have the table's default order when orderBy is absent, null or empty", async () => {
    for (const variables of [{}, { orderBy: null }, { orderBy: [] }])
      expect((await read(variables)).numbers).toEqual(byName);
    const literal = await service.ask(`{ products(orderBy: []) ${numbers} }`, { token });
    expect(
      literal.data.products.nodes.map((n: { erpProductNumber: string }) => n.erpProductNumber),
    ).toEqual(byName);
  });

  test("return cursors when nothing else is selected", async () => {
    const { startCursor, endCursor } = await read({ first: 2 });
    expect(endCursor).not.toBe(startCursor);
    for (const [name, cursor] of Object.entries({ startCursor, endCursor })) {
      const { data } = await service.ask(`{ products(first: 2) { pageInfo { ${name} } } }`, {
        token,
      });
      expect(data.products.pageInfo).toEqual({ [name]: cursor });
    }
  });

  test.each([
    [null],
    [["VINTAGE_DESC"]],
    [["VINTAGE_ASC"]],
    [["ID_DESC", "NAME_ASC"]],
    [["PRIMARY_KEY_ASC"]],
    [["WINE_TYPE_ID_ASC", "VINTAGE_ASC"]],
  ])("of one row contain every row once, forwards and backwards, in order %j", async (orderBy) => {
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

  test.each([
    "",
    "orderBy: [VINTAGE_DESC]",
    "orderBy: VINTAGE_ASC",
    "orderBy: [WINE_TYPE_ID_ASC, VINTAGE_ASC]",
  ])("contain every row once with the literal order %j", async (order) => {
    const ask = async (args: string) => {
      const { data, errors } = await service.ask(
        `{ products(${args}, ${order}) { nodes { erpProductNumber } pageInfo { endCursor startCursor } } }`,
        { token },
      );
      expect(errors).toBeUndefined();
      const { nodes, pageInfo } = data.products;
      return {
        ...pageInfo,
        numbers: nodes.map((n: { erpProductNumber: string }) => n.erpProductNumber),
      };
    };
    const first = await ask("first: 2");
    const second = await ask(`first: 2, after: "${first.endCursor}"`);
    const third = await ask(`first: 2, after: "${second.endCursor}"`);
    const whole = (await ask("first: 5")).numbers;
    expect([...first.numbers, ...second.numbers, ...third.numbers]).toEqual(whole);
    expect(new Set(whole).size).toBe(5);
    expect((await ask(`last: 2, before: "${third.startCursor}"`)).numbers).toEqual(second.numbers);
    const orderBy = [...order.matchAll(/[A-Z_]{4,}/g)].map(([name]) => name);
    expect((await read({ orderBy })).numbers).toEqual(whole);
  });

  test("start after the cursor and then skip the offset", async () => {
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
  ])("reject %j", async (variables, name, message) => {
    expect(await refused(page, variables)).toMatchObject({ message, path: [name] });
  });

  test("reject invalid arguments also when no field of the page is read", async () => {
    expect(await refused("{ products(first: -1) { __typename } }")).toMatchObject({
      path: ["first"],
    });
    expect(await refused("{ products(first: -1) { totalCount } }")).toMatchObject({
      path: ["first"],
    });
  });

  test("reject a cursor of another order", async () => {
    const { endCursor } = await read({ first: 1 });
    const { message } = await refused(page, { after: endCursor, orderBy: ["VINTAGE_ASC"] });
    expect(message).toBe(
      "after is a cursor of another order: it goes with the orderBy that it came from",
    );
  });

  test.each([
    [["VINTAGE_ASC"], "vintage asc", "20x0"],
    [["VINTAGE_ASC"], "vintage asc", 2 ** 40],
    [["VINTAGE_ASC"], "vintage asc", 1999.5],
    [["VINTAGE_ASC"], "vintage asc", true],
    [["NAME_ASC"], "name asc", "\0"],
    [["NAME_ASC"], "name asc", 1],
    [["CREATED_AT_DESC"], "created_at desc", "yesterday"],
    [["CREATED_AT_DESC"], "created_at desc", "2026-02-30T00:00:00.000000+00:00"],
    [["CREATED_AT_DESC"], "created_at desc", "2026-02-20T00:00:00.000000+16:00"],
  ])("reject in order %j a cursor with %s %j", async (orderBy, column, value) => {
    const id = "00000000-0000-7000-8000-000000000000";
    const direction = column.split(" ")[1];
    for (const name of ["after", "before"]) {
      const variables = { orderBy, [name]: cursorOf([column, value], [`id ${direction}`, id]) };
      const message = `${name} must be a cursor from an earlier answer`;
      expect(await refused(page, variables)).toMatchObject({ message, path: [name] });
    }
  });

  test("have 50 rows by default and 250 at most", async () => {
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
  test("are complete and in their table's default order unless a part is requested", async () => {
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
  ])("reject %s", async (document, name, message) => {
    expect(await refused(document)).toMatchObject({ message, path: [name] });
  });

  test("no orderBy enumeration has a value without an order", async () => {
    const { data } = await service.ask(`{ __schema { types { name kind enumValues { name } } } }`, {
      token,
    });
    const orders = data.__schema.types.filter((t: { name: string }) => t.name.endsWith("OrderBy"));
    expect(orders.length).toBeGreaterThan(3);
    expect(JSON.stringify(orders)).not.toContain("NATURAL");
  });
});
