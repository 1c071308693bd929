import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { getOperationAST, parse } from "graphql";
import type pg from "pg";
import { settingsOf } from "../../src/auth/identity.ts";
import { coerceVariables } from "../../src/graphql/coerceVariables.ts";
import { poolFor } from "../../src/postgres/pools.ts";
import { makeWithRequestClient } from "../../src/postgres/service.ts";
import { collectText } from "../../src/postgres/textAnswer.ts";
import { prepareRead } from "../../src/sqlJson/compileRead.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";
import { hasRun, readPlans, logPlans } from "../helpers/db/plans.ts";

/**
 * Searches by words through both execution paths under row-level security. The number of rows read must not depend on
 * the planner, so both generic and custom plans are tested.
 */

const rows = 40_000;
const caller = requestOf(sessionWith(["products.read"]));
const settings = settingsOf(caller, {
  statementTimeoutMs: 60_000,
  invitationDays: 7,
  exportMaxProducts: 1,
  searchPrefix: "",
});

let database: TestDatabase;
let alone: GrafastAlone;
let ownPool: pg.Pool;
let notices: string[] = [];

beforeAll(async () => {
  database = await createDatabase();
  const client = await database.pool.connect();
  // Names sort like the numbers. Of 40,000 products 20,000 are common, 1,000 scattered and 20 rare; 2,000 come last.
  await client.query(
    `set session_replication_role = replica;
     insert into wine_types (id, name, color) values (md5('odd')::uuid, 'Odd one', '#123456');
     insert into products (id, erp_product_number, name, producer, region, country, vintage, wine_type_id)
       select md5(i::text)::uuid, 'n' || i, 'N' || lpad(i::text, 5, '0') || ' ' || case when i % 2 = 0 then 'Commón' else 'Other' end,
         case when i % 2003 = 7 then 'Rarissimo' when i > 38000 then 'Latecomer' end,
         case when i % 40 = 3 then 'Scattered' end, case when i % 4000 = 9 then 'Lux' else 'France' end,
         case when i % 5 < 3 then 1900 + i % 120 end, case when i % 8000 = 1 then md5('odd')::uuid end
       from generate_series(1, ${rows}) i order by md5(i::text);
     set session_replication_role = default`,
  );
  await client.query("vacuum analyze products, wine_types");
  await logPlans(client);
  const [name] = (await client.query<{ name: string }>("select current_database() as name")).rows;
  await client.query(
    `alter database ${name?.name} set plan_cache_mode = force_generic_plan;
     alter database ${name?.name} set client_min_messages = notice`,
  );
  alone = await makeGrafastAlone(database);
  alone.pool.on("connect", hear);
  await Promise.all(
    Array.from({ length: 4 }, async () => (await alone.pool.connect()).release(true)),
  );
  await client.query(`alter database ${name?.name} set plan_cache_mode = force_custom_plan`);
  ownPool = poolFor(database.url, "office_server", 1, { responseTimeoutMs: 60_000 });
  ownPool.on("connect", hear);
  client.release();
});
afterAll(async () => {
  await ownPool?.end();
  await alone?.stop();
  await database.drop();
});

function hear(client: pg.PoolClient): void {
  client.on("notice", ({ message }) => notices.push(message ?? ""));
}

const page = `query ($query: String, $orderBy: [ProductOrderBy!], $first: Int, $last: Int, $offset: Int, $after: Cursor, $before: Cursor) {
  products(query: $query, orderBy: $orderBy, first: $first, last: $last, offset: $offset, after: $after, before: $before) {
    nodes { id name } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`;

type Variables = Record<string, unknown>;
interface Page {
  nodes: { id: string; name: string }[];
  pageInfo: Record<"startCursor" | "endCursor", string>;
}

async function directly(pool: pg.Pool, variables: Variables): Promise<unknown> {
  // Pages from the end belong to Grafast.
  if (variables["last"] != null) return ways.Grafast(variables);
  const document = parse(page);
  const operation = getOperationAST(document);
  const coerced = (operation && coerceVariables(alone.schema, operation, variables)) ?? {};
  const statement = prepareRead(alone.schema, document, null)?.prepare(variables, coerced);
  const gathered = collectText(
    statement?.compile()?.statementFor(statement.given) ?? { text: "is left to Grafast" },
  );
  await makeWithRequestClient(pool, 100)(settings, (client) => client.query(gathered.statement));
  const text = gathered.text();
  return JSON.parse(typeof text === "string" ? text : Buffer.concat(text).toString());
}

const ways = {
  "one statement with a kept plan": (variables: Variables) => directly(alone.pool, variables),
  "one statement with a plan for the word": (variables: Variables) => directly(ownPool, variables),
  Grafast: async (variables: Variables) => (await alone.answer(page, caller, variables)).data,
};

/** A page, and the number of product rows read for it. */
async function read(way: keyof typeof ways, variables: Variables) {
  notices = [];
  const { products } = (await ways[way]({ first: 50, ...variables })) as { products: Page };
  const touched = readPlans(notices)
    .flat()
    .filter((node) => node["Relation Name"] === "products" && hasRun(node))
    .map(
      (node) =>
        (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    )
    .reduce((sum, count) => sum + count, 0);
  expect(touched).toBeGreaterThan(0);
  return { ids: products.nodes.map(({ id }) => id), touched, ...products.pageInfo };
}

/** The ids of all rows that match a condition, in order. */
async function found(condition: string, order = "name, id"): Promise<string[]> {
  const { rows: all } = await database.pool.query<{ id: string }>(
    `select id from products where ${condition} order by ${order}`,
  );
  return all.map(({ id }) => id);
}

const common = "name like '%Comm%'";
const scattered = "region is not null";
const rare = "producer = 'Rarissimo'";
const late = "producer = 'Latecomer'";

describe.each(Object.keys(ways) as (keyof typeof ways)[])("A page of a search by %s", (way) => {
  test.each([
    // The matches, and the maximum of rows to read: 1,024, or the matches themselves when they are few.
    ["common", common, 400],
    ["scattered", scattered, 5_000],
    ["rarissimo", rare, 1_200],
    ["latecomer", late, 5_200],
    ["missing", "false", 1_100],
    ["common scattered", "false", 1_100],
    ["other scattered", `${scattered} and not (${common})`, 5_000],
    ["common rarissimo", `${common} and ${rare}`, 1_200],
    ["rarissimo OR scattered", `${rare} or ${scattered}`, 5_000],
    ["rarissimo OR missing", rare, 1_200],
    ["-common", `not (${common})`, 400],
    ["-common rarissimo", `not (${common}) and ${rare}`, 1_200],
    ["comm*", common, 400],
    ["raris*", rare, 1_200],
    ["ommon*", "false", 1_100],
    ["co", common, 400],
    ["ra", rare, 1_200],
    ["qq", "false", 1_100],
    ["producer:rarissimo", rare, 700],
    ["producer:raris*", rare, 700],
    ["country:lux", "country = 'Lux'", 700],
    ["country:france", "country = 'France'", 400],
    ['wineType.name:"odd one"', "wine_type_id is not null", 700],
    ["vintage:1950 rarissimo", `vintage = 1950 and ${rare}`, 900],
  ])("reads few rows for %s", async (query, condition, most) => {
    const all = await found(condition);
    const { ids, touched } = await read(way, { query });
    expect(ids).toEqual(all.slice(0, 50));
    expect(touched).toBeLessThan(most);
  });

  test.each([
    ["common", common, 400],
    ["scattered", scattered, 5_000],
    ["rarissimo", rare, 1_200],
  ])("reads few rows backwards for %s", async (query, condition, most) => {
    const all = await found(condition);
    const { ids, touched } = await read(way, { query, first: null, last: 50 });
    expect(ids).toEqual(all.slice(-50));
    expect(touched).toBeLessThan(most);
  });

  test.each([
    ["common", common, 10_000, 400],
    ["scattered", scattered, 500, 5_000],
    ["rarissimo", rare, 10, 1_200],
  ])("reads few rows after a cursor for %s", async (query, condition, at, most) => {
    const all = await found(condition);
    const size = Math.min(50, at);
    const { endCursor } = await read(way, { query, first: 1, offset: at - 1 });
    const next = await read(way, { query, after: endCursor });
    expect(next.ids).toEqual(all.slice(at, at + 50));
    expect(next.touched).toBeLessThan(most);
    const before = await read(way, { query, first: null, last: size, before: endCursor });
    expect(before.ids).toEqual(all.slice(at - 1 - size < 0 ? 0 : at - 1 - size, at - 1));
    expect(before.touched).toBeLessThan(most);
  });

  test.each(["VINTAGE_ASC", "VINTAGE_DESC"])("reads few rows in the order %s", async (order) => {
    const [column, direction] = order.toLowerCase().split("_");
    const orderBy = [order];
    const sorted = `${column} ${direction} nulls last, id ${direction}`;
    for (const [query, condition, at, most] of [
      ["common", common, 13_000, 1_000],
      ["rarissimo", rare, 10, 1_700],
      ["missing", "false", 0, 1_000],
    ] as const) {
      const all = await found(condition, sorted);
      const first = await read(way, { query, orderBy });
      expect(first.ids).toEqual(all.slice(0, 50));
      expect(first.touched).toBeLessThan(most);
      if (at === 0) continue;
      const { endCursor } = await read(way, { query, orderBy, first: 1, offset: at - 1 });
      const next = await read(way, { query, orderBy, after: endCursor });
      expect(next.ids).toEqual(all.slice(at, at + 50));
      expect(next.touched).toBeLessThan(2 * most);
    }
  });

  test("returns a page in an order without an index", async () => {
    const orderBy = ["VINTAGE_DESC", "NAME_DESC"];
    const all = await found(rare, "vintage desc nulls last, name desc, id desc");
    const { ids, touched } = await read(way, { query: "rarissimo", orderBy });
    expect(ids).toEqual(all);
    expect(touched).toBeLessThan(100);
  });

  test("matches no word across two fields", async () => {
    const { ids } = await read(way, { query: '"common scattered"' });
    expect(ids).toEqual([]);
  });
});
