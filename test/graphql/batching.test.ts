import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type InProcess, makeInProcess } from "../helpers/inProcess.ts";
import { insertOrderRows } from "../helpers/orderRows.ts";

let database: TestDatabase;
let api: InProcess;

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
  api = await makeInProcess(database);
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});
beforeEach(() => {
  api.statements();
});

const ask = (document: string) =>
  api.ask(document, [
    ...["orders.read", "customers.read", "products.read", "erpsync.read"],
    ...["campaigns.read", "reviewers.read", "users.read"],
  ]);

describe("the SQL statements of an operation", () => {
  test("are few for 50 orders with issues, lines, products and customers", async () => {
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
    // The page with its relations, and the total.
    expect(api.statements()).toHaveLength(2);
  });

  test("are equally many for one and for fifty customers with pages of orders", async () => {
    const document = (first: number) =>
      `{ customers(first: ${first}) { nodes { name orders(first: 3, includeTotalCount: true) { totalCount nodes { lines { id } importIssues { id } } } } } }`;
    await ask(document(1));
    const forOne = api.statements().length;
    const { customers } = await ask(document(50));
    expect(customers.nodes).toHaveLength(15);
    expect(customers.nodes[0].orders.nodes[0].lines).toHaveLength(5);
    expect(api.statements()).toHaveLength(forOne);
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
  ])("are equally many for one and for fifty %s", async (_what, document, rows) => {
    await ask(document(1));
    const forOne = api.statements().length;
    const answer = await ask(document(50));
    expect(rows(answer)).toHaveLength(50);
    expect(JSON.stringify(rows(answer)[0])).toContain('"totalCount":');
    expect(api.statements()).toHaveLength(forOne);
    expect(forOne).toBeLessThanOrEqual(4);
  });

  test("are few for 40 groups of issues with their sample orders and lines", async () => {
    const { erpOrderImportIssues } = await ask(
      `{ erpOrderImportIssues(limit: 40) { key sampleOrders { erpOrderNumber lines { id } customer { name } } } }`,
    );
    expect(erpOrderImportIssues).toHaveLength(40);
    expect(api.statements()).toHaveLength(3);
  });

  test("contain no count or aggregate that is not selected", async () => {
    const counting = /\b(count|sum|avg|min|max)\(/i;
    for (const [document, expected] of [
      ["{ orders(first: 5) { nodes { id } } }", 1],
      ["{ orders(first: 5) { totalCount nodes { id } } }", 1],
      ["{ orders(first: 5, includeTotalCount: false) { totalCount nodes { id } } }", 1],
      ["{ orders(first: 5, includeTotalCount: true) { nodes { id } } }", 1],
      ["{ orders { totalCount } }", 0],
      ["{ customers(first: 5) { nodes { orders(first: 2) { totalCount nodes { id } } } } }", 1],
    ] as const) {
      await ask(document);
      const statements = api.statements();
      expect({ document, statements: statements.length }).toEqual({
        document,
        statements: expected,
      });
      expect(statements.filter((statement) => counting.test(statement))).toEqual([]);
    }
  });

  test("include one for a selected total and one for selected aggregates", async () => {
    await ask("{ orders(first: 5, includeTotalCount: true) { totalCount nodes { id } } }");
    expect(api.statements().filter((statement) => /\bcount\(\*\)/i.test(statement))).toHaveLength(
      1,
    );
    await ask("{ orders(first: 5) { nodes { id } aggregates { sum { totalAmount } } } }");
    const statements = api.statements();
    expect(statements.filter((statement) => /\bsum\(/i.test(statement))).toHaveLength(1);
    expect(statements.filter((statement) => /\bcount\(|\bavg\(/i.test(statement))).toEqual([]);
  });
});
