import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { InProcess } from "../helpers/inProcess.ts";
import { makeInProcess } from "../helpers/inProcess.ts";
import { hasRun, readPlans, logPlans } from "../helpers/db/plans.ts";

const rows = 100_000;
let database: TestDatabase;
let api: InProcess;

beforeAll(async () => {
  database = await createDatabase();
  const client = await database.pool.connect();
  // Indexes for words take long to build, and no page here needs one.
  await client.query(
    `do $$ declare i regclass; begin
       for i in select indexrelid from pg_index x join pg_class c on c.oid = x.indexrelid join pg_am m on m.oid = c.relam
         where x.indrelid = 'products'::regclass and m.amname = 'gin'
       loop execute format('drop index %s', i); end loop;
     end $$`,
  );
  // Hundreds of products share a vintage, and two of five have none.
  await client.query(
    `set session_replication_role = replica;
     insert into products (id, erp_product_number, name, vintage, is_active)
       select md5(i::text)::uuid, 'n' || i, (array['n', 'N', 'é', 'ø', 'Å'])[1 + i % 5] || i, case when i % 5 < 3 then 1900 + i % 120 end, i / 120 % 2 = 0 from generate_series(1, ${rows}) i;
     set session_replication_role = default`,
  );
  await client.query("vacuum analyze products");
  await logPlans(client);
  client.release();
  api = await makeInProcess(database);
});
afterAll(async () => {
  await api?.stop();
  await database.drop();
});

const page = `query ($query: String, $orderBy: [ProductOrderBy!], $first: Int, $last: Int, $offset: Int, $after: Cursor, $before: Cursor) {
  products(query: $query, orderBy: $orderBy, first: $first, last: $last, offset: $offset, after: $after, before: $before) {
    nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`;

async function read(variables: object) {
  api.notices();
  const { products } = await api.ask(page, ["products.read"], variables);
  const touched = readPlans(api.notices())
    .flat()
    .filter((node) => node["Relation Name"] === "products" && hasRun(node))
    .map(
      (node) =>
        (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    )
    .reduce((sum, count) => sum + count, 0);
  const ids = products.nodes.map(({ id }: { id: string }) => id) as string[];
  return { ids, touched, ...products.pageInfo };
}

/** The ids of active or all products, those without a vintage last. */
async function sorted(direction: string, onlyActive: boolean): Promise<string[]> {
  const { rows: all } = await database.pool.query<{ id: string }>(
    `select id from products where is_active or not ${onlyActive} order by vintage ${direction} nulls last, id ${direction}`,
  );
  return all.map(({ id }) => id);
}

describe("a page of 100,000 products by a column with many nulls", () => {
  test.each([
    ["ASC", undefined],
    ["DESC", undefined],
    ["ASC", "isActive:true"],
    ["DESC", "isActive:true"],
  ])("%s, searched by %s, uses the index from any position", async (direction, query) => {
    const all = await sorted(direction, query !== undefined);
    const order = { orderBy: [`VINTAGE_${direction}`], query };
    const size = 20;
    // At the edges of the nulls, 10 rows before them, amid values and amid nulls.
    const edge = Math.round(all.length * 0.6);
    for (const at of [all.length * 0.2, edge - 10, edge - 1, edge, edge + 1, all.length * 0.8]) {
      const here = await read({ ...order, first: 1, offset: Math.round(at) - 1 });
      const place = all.indexOf(here.ids[0] ?? "");
      expect(place).toBe(Math.round(at) - 1);

      const next = await read({ ...order, first: size, after: here.endCursor });
      expect(next.ids).toEqual(all.slice(place + 1, place + 1 + size));
      expect(next).toMatchObject({ hasNextPage: true });
      const later = await read({ ...order, first: size, offset: 5, after: here.endCursor });
      expect(later.ids).toEqual(all.slice(place + 6, place + 6 + size));
      const before = await read({ ...order, last: size, before: here.startCursor });
      expect(before.ids).toEqual(all.slice(place - size, place));
      expect(before).toMatchObject({ hasPreviousPage: true });
      // At most two ranges, each row found and then fetched; half of the rows when only active ones count.
      for (const { touched } of [next, later, before]) expect(touched).toBeLessThan(size * 12);
    }
    const start = await read({ ...order, first: size });
    expect(start.ids).toEqual(all.slice(0, size));
    const end = await read({ ...order, last: size });
    expect(end.ids).toEqual(all.slice(-size));
    for (const { touched } of [start, end]) expect(touched).toBeLessThan(size * 12);
    const last = await read({ ...order, last: 1 });
    expect(await read({ ...order, first: size, after: last.endCursor })).toMatchObject({
      ids: [],
      hasNextPage: false,
    });
    const first = await read({ ...order, first: 1 });
    expect(await read({ ...order, last: size, before: first.startCursor })).toMatchObject({
      ids: [],
      hasPreviousPage: false,
    });
  });
});

describe("a page of 100,000 products by name", () => {
  test.each(["ASC", "DESC"])("%s, in display order, uses the index", async (direction) => {
    const { rows: all } = await database.pool.query<{ id: string }>(
      `select id from products order by name ${direction}, id ${direction}`,
    );
    const order = { orderBy: [`NAME_${direction}`] };
    const here = await read({ ...order, first: 1, offset: 50_000 });
    const next = await read({ ...order, first: 20, after: here.endCursor });
    expect(next.ids).toEqual(all.slice(50_001, 50_021).map(({ id }) => id));
    const before = await read({ ...order, last: 20, before: here.startCursor });
    expect(before.ids).toEqual(all.slice(49_980, 50_000).map(({ id }) => id));
    for (const { touched } of [next, before]) expect(touched).toBeLessThanOrEqual(21);
  });
});

describe("a page of 50 products of one vintage, by name", () => {
  test.each(["ASC", "DESC"])("%s, reads only its own rows", async (direction) => {
    const { rows: all } = await database.pool.query<{ id: string }>(
      `select id from products where vintage = 1950 order by name ${direction}, id ${direction}`,
    );
    expect(all.length).toBeGreaterThan(800);
    const { ids, touched } = await read({
      ...{ query: "vintage:1950", orderBy: [`NAME_${direction}`] },
      first: 50,
    });
    expect(ids).toEqual(all.slice(0, 50).map(({ id }) => id));
    // The page and one more row; `products_vintage_name_idx` provides this order.
    expect(touched).toBeLessThanOrEqual(51);
  });
});
