import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(
    `insert into wine_types (name) values ('Numbered');
     insert into products (erp_product_number, name, vintage, country, is_active, wine_type_id)
     select i, (array['Riesling', 'Merlot', 'Riesling Brut'])[1 + i % 3], case when i % 3 > 0 then 2000 + i % 5 end,
       (array['France', 'Italy', null])[1 + i % 3 * i % 3], i % 4 > 0, t.id
     from generate_series(1, 24) i, wine_types t where t.name = 'Numbered';
     insert into reviewers (name) values ('Anna Holm');
     insert into product_ratings (product_id, reviewer_id, year, points)
     select p.id, r.id, year, 90 from products p, reviewers r, unnest(array[2020, null, 2022]) year where p.erp_product_number = '1'`,
  );
  ({ token } = await service.login(["products.read", "reviewers.read", "users.read"]));
});
afterAll(async () => {
  await service.stop();
});

async function ask(document: string, variables: Record<string, unknown> = {}) {
  const { data, errors } = await service.ask(document, { token, variables });
  expect(errors).toBeUndefined();
  return data;
}

const page = `query ($query: String, $orderBy: [ProductOrderBy!], $first: Int, $last: Int, $offset: Int, $after: Cursor, $before: Cursor) {
  products(query: $query, orderBy: $orderBy, first: $first, last: $last, offset: $offset, after: $after, before: $before) {
    nodes { erpProductNumber } pageInfo { startCursor endCursor } } }`;

async function read(variables: object) {
  const { products } = await ask(page, { ...variables });
  const { nodes, pageInfo } = products;
  return {
    numbers: nodes.map((node: { erpProductNumber: string }) => node.erpProductNumber) as string[],
    ...(pageInfo as { startCursor: string; endCursor: string }),
  };
}

async function sorted(condition: string, order: string): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ number: string }>(
    `select erp_product_number as number from products where ${condition} order by ${order}`,
  );
  return rows.map(({ number }) => number);
}

const orders = [
  [["VINTAGE_ASC"], "vintage asc nulls last, id"],
  [["VINTAGE_DESC"], "vintage desc nulls last, id desc"],
  [["COUNTRY_DESC", "VINTAGE_DESC"], "country desc nulls last, vintage desc nulls last, id desc"],
  [["COUNTRY_DESC", "VINTAGE_ASC"], "country desc nulls last, vintage asc nulls last, id desc"],
  [["COUNTRY_ASC", "VINTAGE_DESC"], "country asc nulls last, vintage desc nulls last, id"],
  [["NAME_DESC", "VINTAGE_DESC"], "name desc, vintage desc nulls last, id desc"],
] as const;
const searches = [
  [null, "true"],
  ["isActive:true", "is_active"],
  ["riesling", "name like 'Riesling%'"],
] as const;

describe.each(orders)("a connection ordered by %j", (orderBy, order) => {
  describe.each(searches)("and searched by %j has rows without a value last", (query, matches) => {
    test("from any cursor, forwards and backwards", async () => {
      const whole = await sorted(matches, order);
      const all = await read({ query, orderBy });
      expect(all.numbers).toEqual(whole);
      for (let place = 0; place < whole.length; place++) {
        const { startCursor: cursor, numbers } = await read({
          ...{ query, orderBy, first: 1, offset: place },
        });
        expect(numbers).toEqual([whole[place]]);
        const next = await read({ query, orderBy, first: 3, after: cursor });
        expect(next.numbers).toEqual(whole.slice(place + 1, place + 4));
        const later = await read({ query, orderBy, first: 3, offset: 2, after: cursor });
        expect(later.numbers).toEqual(whole.slice(place + 3, place + 6));
        const before = await read({ query, orderBy, last: 3, before: cursor });
        expect(before.numbers).toEqual(whole.slice(Math.max(place - 3, 0), place));
      }
    });

    test("from both ends, with and without cursors", async () => {
      const whole = await sorted(matches, order);
      for (const size of [1, 3, 7, whole.length]) {
        const first = await read({ query, orderBy, first: size });
        expect(first.numbers).toEqual(whole.slice(0, size));
        const last = await read({ query, orderBy, last: size });
        expect(last.numbers).toEqual(whole.slice(-size));
        // From the end that has no cursor.
        const untilFirst = await read({ query, orderBy, first: 2, before: first.endCursor });
        expect(untilFirst.numbers).toEqual(whole.slice(0, size - 1).slice(0, 2));
        const untilLast = await read({ query, orderBy, last: 2, after: last.startCursor });
        expect(untilLast.numbers).toEqual(
          whole.slice(1 - size, size === 1 ? 0 : undefined).slice(-2),
        );
        const between = { after: first.startCursor, before: last.endCursor };
        const inner = await read({ query, orderBy, first: 4, ...between });
        expect(inner.numbers).toEqual(whole.slice(1, -1).slice(0, 4));
      }
    });
  });
});

test("a page of which no column is selected knows whether more rows follow", async () => {
  const whole = await sorted("true", "vintage desc nulls last, id desc");
  const args = "orderBy: [VINTAGE_DESC], first: 3";
  for (const place of [1, 10, 19, 20, 21]) {
    const { startCursor: after } = await read({
      ...{ orderBy: ["VINTAGE_DESC"], first: 1, offset: place },
    });
    const { types, infos, skipped } = await ask(
      `query ($after: Cursor) {
        types: products(${args}, after: $after) { nodes { __typename } }
        infos: products(${args}, after: $after) { pageInfo { hasNextPage } }
        skipped: products(${args}, offset: ${place}) { pageInfo { hasNextPage } } }`,
      { after },
    );
    expect(types.nodes).toHaveLength(Math.min(whole.length - place - 1, 3));
    expect(infos.pageInfo.hasNextPage).toBe(place + 4 < whole.length);
    expect(skipped.pageInfo.hasNextPage).toBe(place + 3 < whole.length);
  }
});

test("rows without a value are last in a related connection", async () => {
  const { wineTypePages } = await ask(
    `{ wineTypePages(query: "name:Numbered") { nodes { products(orderBy: [VINTAGE_DESC], first: 20) { nodes { erpProductNumber } } } } }`,
  );
  const [{ products }] = wineTypePages.nodes;
  expect(products.nodes.map((node: { erpProductNumber: string }) => node.erpProductNumber)).toEqual(
    (await sorted("true", "vintage desc nulls last, id desc")).slice(0, 20),
  );
});

test.each(["", "first: 3, "])("rows without a value are last in a related list", async (size) => {
  const { products } = await ask(
    `{ products(query: "erpProductNumber:1") { nodes { ratings(${size}orderBy: [YEAR_DESC]) { year } } } }`,
  );
  expect(products.nodes).toEqual([{ ratings: [{ year: 2022 }, { year: 2020 }, { year: null }] }]);
});

test("rows without a value are last in a plain list", async () => {
  await service.database.pool.query(
    "insert into resources (name, kind, capacity) values ('Small', 'ROOM', 2), ('Unknown', 'ROOM', null), ('Large', 'ROOM', 9)",
  );
  const { resources } = await ask(`{ resources(orderBy: [CAPACITY_DESC]) { name } }`);
  expect(resources).toEqual([{ name: "Large" }, { name: "Small" }, { name: "Unknown" }]);
});
