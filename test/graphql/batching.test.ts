import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import { readConfig } from "../../src/config.ts";
import { poolFor } from "../../src/database.ts";
import { makePreset } from "../../src/graphile.config.ts";
import { createLog } from "../../src/log.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { insertOrderRows } from "../helpers/orderRows.ts";

let database: TestDatabase;
let pool: pg.Pool;
let schema: GraphQLSchema;
let resolvedPreset: GraphileConfig.ResolvedPreset;
/** What the API asked of the database, without the frame of transactions, settings and the audit of reads. */
let statements: string[] = [];

/** Writes down every statement that goes over a connection. */
function watch(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((...args: unknown[]) => {
    const [first] = args;
    const text = typeof first === "string" ? first : (first as { text: string }).text;
    if (!/^\s*(begin|commit|rollback|set |select set_config)|record_read/i.test(text))
      statements.push(text);
    return query(...args);
  }) as typeof client.query;
}

beforeAll(async () => {
  database = await createDatabase();
  const client = await database.pool.connect();
  await insertOrderRows(client, { orders: 300, issuesPerOrder: 4, linesPerOrder: 5 });
  await client.query(`
    insert into products (erp_product_number, name, wine_type_id)
    select n::text, 'Wine ' || n, t.id from generate_series(1, 60) n, wine_types t where t.name = 'Red';
    insert into reviewers (name) select 'Reviewer ' || n from generate_series(1, 60) n;
    insert into product_ratings (product_id, reviewer_id, year, points)
    select p.id, r.id, 2026, 90 from products p, reviewers r where p.erp_product_number::integer <= 4;
    insert into users (email) values ('author@example.com');
    insert into campaigns (product_id, title, price, author_user_id, medium, scheduled_at)
    select p.id, 'Campaign', '1', u.id, 'EMAIL', now() from products p, users u, generate_series(1, 2)`);
  client.release();
  pool = poolFor(database.url, "office_server", 4);
  const preset = makePreset({
    config: readConfig({}),
    pool,
    area: "backoffice",
    areas: null,
    constraints: new Map(),
    log: createLog("silent"),
  });
  ({ schema, resolvedPreset } = await makeSchema(preset));
  pool.on("connect", (client) => {
    watch(client);
  });
  // Those that the introspection left behind go, so that every statement is seen.
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      const client = await pool.connect();
      client.release(true);
    }),
  );
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => {
  statements = [];
});

async function ask(source: string) {
  const office = {
    identity: {
      userId: randomUUID(),
      sessionId: null,
      tokenId: null,
      permissions: new Set([
        ...["orders.read", "customers.read", "products.read", "erpsync.read"],
        ...["campaigns.read", "reviewers.read", "users.read"],
      ]),
      scoped: false,
    },
    area: "backoffice",
    testRunId: null,
    correlationId: "test",
    ipAddress: "192.0.2.1",
    userAgent: "jest",
  };
  const result = await grafast({
    schema,
    source,
    resolvedPreset,
    requestContext: { expressv4: { res: { locals: { office } } } } as never,
  });
  if (!("data" in result)) throw new Error(JSON.stringify(result));
  expect(result.errors).toBeUndefined();
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- read loosely, as by a client without types
  return result.data as any;
}

describe("the statements behind an answer", () => {
  test("are a handful for 50 orders with issues, lines, products and customers", async () => {
    const { orders } = await ask(
      `{ orders(first: 50, includeTotalCount: true) { totalCount nodes { erpOrderNumber importIssues { code key } importIssueHistory { id }
           lines { amount product { name } } customer { name } supersededBy { erpOrderNumber } } } }`,
    );
    expect(orders.totalCount).toBe(300);
    expect(orders.nodes).toHaveLength(50);
    for (const order of orders.nodes) {
      expect(order.importIssues).toHaveLength(4);
      expect(order.lines).toHaveLength(5);
      expect(order.customer.name).toMatch(/^Customer/);
    }
    // The page with what hangs on it, and the total.
    expect(statements).toHaveLength(2);
  });

  test("are as many for fifty customers with pages of orders as for one", async () => {
    const document = (first: number) =>
      `{ customers(first: ${first}) { nodes { name orders(first: 3, includeTotalCount: true) { totalCount nodes { lines { id } importIssues { id } } } } } }`;
    await ask(document(1));
    const forOne = statements.length;
    statements = [];
    const { customers } = await ask(document(50));
    expect(customers.nodes).toHaveLength(15);
    expect(customers.nodes[0].orders.nodes[0].lines).toHaveLength(5);
    expect(statements).toHaveLength(forOne);
    expect(forOne).toBe(1);
  });

  test.each([
    [
      "products with campaigns, their authors and ratings",
      (first: number) =>
        `{ products(first: ${first}) { nodes { campaigns(first: 2, includeTotalCount: true) { totalCount nodes { title author { campaigns(first: 1) { nodes { id } } } } } ratings { reviewer { name } } } } }`,
      (data: { products: { nodes: unknown[] } }) => data.products.nodes,
    ],
    [
      "reviewers with pages of ratings and their products",
      (first: number) =>
        `{ reviewers(first: ${first}) { name ratings(first: 3, includeTotalCount: true) { totalCount nodes { product { name wineType { products(first: 1) { nodes { id } } } } } } } }`,
      (data: { reviewers: unknown[] }) => data.reviewers,
    ],
  ])("are as many for fifty %s as for one", async (_what, document, rows) => {
    await ask(document(1));
    const forOne = statements.length;
    statements = [];
    const answer = await ask(document(50));
    expect(rows(answer)).toHaveLength(50);
    expect(JSON.stringify(rows(answer)[0])).toContain('"totalCount":');
    expect(statements).toHaveLength(forOne);
    expect(forOne).toBeLessThanOrEqual(4);
  });

  test("are a handful for 40 groups of issues with their sample orders and lines", async () => {
    const { erpOrderImportIssues } = await ask(
      `{ erpOrderImportIssues(limit: 40) { key sampleOrders { erpOrderNumber lines { id } customer { name } } } }`,
    );
    expect(erpOrderImportIssues).toHaveLength(40);
    expect(statements).toHaveLength(2);
  });
});
