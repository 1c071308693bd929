import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type InProcess, makeInProcess } from "../helpers/inProcess.ts";
import { type PlanNode, hasRun, readPlans, logPlans } from "../helpers/db/plans.ts";

// How pages of word searches are found in a large table: by rows tested in list order, or by a look-up of all matches.
const rows = 12_000;
let database: TestDatabase;
let api: InProcess;

beforeAll(async () => {
  database = await createDatabase();
  const client = await database.pool.connect();
  await client.query("set session_replication_role = replica");
  await client.query("alter table products set (autovacuum_enabled = false)");
  // One row in 80 has the word `eightieth`, wherever a list begins. Only the last rows in the order of names have `latecomer`.
  await client.query(
    `insert into products (erp_product_number, name, producer, region, created_at)
     select 'N' || i, 'Wine ' || lpad(i::text, 6, '0'), case when i % 80 = 0 then 'Eightieth' else 'Other' end,
       case when i > 9000 then 'Latecomer' end, '2020-01-01Z'::timestamptz + i * interval '1 minute'
     from generate_series(1, $1::integer) as i`,
    [rows],
  );
  await client.query("set session_replication_role = default");
  await client.query("vacuum analyze products");
  // As in a table of this size, where a look-up finds 50 times as many matches.
  await client.query("update pg_class set reltuples = 600000 where oid = 'products'::regclass");
  await logPlans(client);
  client.release();
  api = await makeInProcess(database);
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

async function nodesOf(query: string, order: string): Promise<PlanNode[]> {
  api.notices();
  const { products } = await api.ask(
    `query ($query: String) { products(query: $query, first: 50, orderBy: [${order}]) { nodes { id } } }`,
    ["products.read"],
    { query },
  );
  expect(products.nodes).toHaveLength(50);
  const [nodes = []] = readPlans(api.notices()).filter((plan) =>
    plan.some((node) => node["Relation Name"] === "products"),
  );
  return nodes;
}

const isLookUp = (node: PlanNode) => node["Node Type"] === "Bitmap Index Scan" && hasRun(node);
const testedRows = (nodes: readonly PlanNode[]) =>
  nodes
    .filter((node) => hasRun(node) && /^Index (Only )?Scan$/.test(node["Node Type"]))
    .map((node) => node["Actual Rows"]);

test.each(["CREATED_AT_DESC", "CREATED_AT_ASC", "NAME_ASC"])(
  "a word that thousands of rows contain is found in list order: %s",
  async (order) => {
    const nodes = await nodesOf("eightieth", order);
    expect(nodes.filter(isLookUp)).toEqual([]);
    expect(Math.max(...testedRows(nodes))).toBeGreaterThan(4_096);
  },
);

test("a word of some thousand rows late in the list is looked up once, without a long walk", async () => {
  const nodes = await nodesOf("latecomer", "NAME_ASC");
  expect(nodes.filter(isLookUp)).toHaveLength(1);
  expect(
    nodes.filter((node) => node["Node Type"] === "Index Only Scan" && hasRun(node)),
  ).toHaveLength(1);
});

test("a beginning of a word is compared by LIKE beside the regular expression, by one look-up", async () => {
  const conditions = (await nodesOf("eight*", "NAME_ASC")).map((node) => node["Index Cond"] ?? "");
  expect(conditions.filter((text) => / ~~ /.test(text) && / ~ /.test(text))).not.toEqual([]);
  expect(conditions.filter((text) => / ~ /.test(text) && !/ ~~ /.test(text))).toEqual([]);
});
