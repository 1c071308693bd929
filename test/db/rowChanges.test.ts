import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type pg from "pg";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { hasRun, logPlans, readPlans } from "../helpers/db/plans.ts";

// The outbox of changed rows: what triggers add for each reader, and what the readers scan.
let database: TestDatabase;
let client: pg.PoolClient;
let notices: string[] = [];

beforeAll(async () => {
  database = await createDatabase();
  const settings = await database.pool.connect();
  await logPlans(settings);
  settings.release(true);
});
afterAll(async () => {
  await database.drop();
});

beforeEach(async () => {
  client = await database.pool.connect();
  client.on("notice", ({ message }) => notices.push(message ?? ""));
  await client.query("begin");
  await client.query("set local auto_explain.log_nested_statements = on");
  await client.query("delete from row_changes");
});
afterEach(async () => {
  await client.query("rollback");
  client.release(true);
});

/** Makes a table watched: its search matches no row. */
async function watch(table: string, related: string[] = []): Promise<void> {
  await client.query(
    `with owner as (insert into users (email, is_active) values (gen_random_uuid() || '@example.com', true) returning id)
     insert into search_watches (user_id, name, entity, query, table_name, statement, statement_values, seen_statement, ids_at,
       related_tables)
     select id, 'Watch', $1, 'x', $1, '', '[]', '', 0, $2 from owner`,
    [table, related],
  );
  await client.query("delete from row_changes");
}
async function addProduct(): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    "insert into products (erp_product_number, name) values (gen_random_uuid(), 'A wine') returning id",
  );
  return rows[0]!.id;
}
/** Takes the entries out of the outbox, in order. */
async function taken(): Promise<unknown[][]> {
  const { rows } = await client.query<unknown[]>({
    text: `with taken as (delete from row_changes returning *)
           select reader, table_name, row_id, is_new from taken order by reader, id`,
    rowMode: "array",
  });
  return rows;
}

test("a change of an unwatched row has an entry for the search engine alone", async () => {
  const id = await addProduct();
  expect(await taken()).toEqual([["search", "products", id, true]]);
});

test("a change of a watched row has an entry for each reader", async () => {
  await watch("products");
  const id = await addProduct();
  expect(await taken()).toEqual([
    ["search", "products", id, true],
    ["watches", "products", id, true],
  ]);
  for (const change of ["update products set vintage = 2001", "delete from products"]) {
    await client.query(`${change} where id = $1`, [id]);
    expect(await taken()).toEqual([
      ["search", "products", id, false],
      ["watches", "products", id, false],
    ]);
  }
});

test("a change of a row that the document of another one shows has an entry of that one for each reader", async () => {
  await watch("products");
  const id = await addProduct();
  await taken();
  await client.query(
    "insert into product_prices (product_id, type, currency, amount) values ($1, 'retail', 'EUR', 9)",
    [id],
  );
  expect(await taken()).toEqual([
    ["search", "products", id, false],
    ["watches", "products", id, false],
  ]);
});

test("a change in a table outside the search engine has an entry for watches alone", async () => {
  await watch("departments");
  const { rows } = await client.query<{ id: string }>(
    "insert into departments (name) values ('Cellar') returning id",
  );
  expect(await taken()).toEqual([["watches", "departments", rows[0]!.id, true]]);
});

test("a change in a table of the search engine without an audit trail has an entry", async () => {
  const tags = [
    "@read products.read",
    "@audit off because of this test",
    "@watch off because of this test",
    "@searchCollection planted",
  ];
  await client.query(
    `create table planted (id uuid primary key default uuidv7(), name text);
     comment on table planted is '${tags.join("\n")}';
     select protect_table('planted')`,
  );
  const { rows } = await client.query<{ id: string }>(
    "insert into planted (name) values ('A row') returning id",
  );
  expect(await taken()).toEqual([["search", "planted", rows[0]!.id, true]]);
});

test("a statement on a table that a watch searches through relations has one entry without an id", async () => {
  await watch("products", ["departments"]);
  await client.query("insert into departments (name) values ('Cellar'), ('Office')");
  expect(await taken()).toEqual([["watches", "departments", null, false]]);
});

test("an update that changes no value adds no entry", async () => {
  await watch("products");
  const id = await addProduct();
  await taken();
  await client.query("update products set name = name where id = $1", [id]);
  expect(await taken()).toEqual([]);
});

test("a changed id has entries for the old and the new one", async () => {
  const id = await addProduct();
  await taken();
  const { rows } = await client.query<{ id: string }>(
    "update products set id = uuidv7() where id = $1 returning id",
    [id],
  );
  expect(await taken()).toEqual([
    ["search", "products", rows[0]!.id, false],
    ["search", "products", id, false],
  ]);
});

test("an entry without an id is refused for the search engine", async () => {
  await expect(
    client.query("insert into row_changes (reader, table_name) values ('search', 'products')"),
  ).rejects.toThrow("row_changes_row_id_check");
});

test.each([
  ["search", "watches", "select search_changes(100)"],
  ["search", "watches", "select operations_lags()"],
  ["watches", "search", "select next_watch_changes(100, true)"],
  ["watches", "search", "select queue_changes(false)"],
])("%s does not scan entries of %s: %s", async (reader, other, statement) => {
  await watch("products");
  await client.query(
    `select add_row_changes(array[r]::change_reader[], 'products', array(select gen_random_uuid() from generate_series(1, n)), false)
     from (values ($1, 10), ($2, 10000)) as v(r, n)`,
    [reader, other],
  );
  notices = [];
  await client.query(statement);
  const read = readPlans(notices)
    .flat()
    .filter((node) => node["Relation Name"] === "row_changes" && hasRun(node));
  expect(read).not.toEqual([]);
  for (const node of read) {
    expect(node["Node Type"]).toMatch(/^(Index|Index Only|Bitmap Heap) Scan$|^ModifyTable$/);
    expect(node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)).toBeLessThanOrEqual(10);
  }
});
