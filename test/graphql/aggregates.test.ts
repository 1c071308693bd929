import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let token: string;

const rows = `
  insert into customers (erp_customer_number, name) values ('1', 'One'), ('2', 'Two');
  insert into orders (erp_order_number, customer_id, placed_at, status, total_amount, payment_method)
  select v.number, c.id, v.placed::timestamptz, v.status::order_status, v.total, v.payment
  from (values
    ('a', '1', '2026-01-31T23:30:00-01:00', 'OPEN', 10.5, 'Card'), ('b', '1', '2026-02-28T23:59:59.999Z', 'SHIPPED', 20, 'Card'),
    ('c', '2', '2026-01-31T23:59:59.999Z', 'OPEN', 30, null), ('d', '2', '2026-03-01T00:00:00Z', 'CANCELLED', 0.01, '')
  ) as v(number, customer, placed, status, total, payment)
  join customers c on c.erp_customer_number = v.customer;
  insert into products (erp_product_number, name, vintage, stock_quantity, is_active)
  select n::text, 'Wine ' || n, case when n % 3 > 0 then 2000 + n % 3 * 5 end, n, n % 2 = 0 from generate_series(1, 9) n;`;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(rows);
  ({ token } = await service.login(["orders.read", "customers.read", "products.read"]));
});
afterAll(async () => {
  await service.stop();
});

async function ask(source: string, variables?: Record<string, unknown>) {
  const { data, errors } = await service.ask(source, { token, variables });
  expect(errors).toBeUndefined();
  return data;
}

/** `[keys, count]` of each group. */
async function counts(field: string, args: string, variables?: Record<string, unknown>) {
  const head = variables ? "query ($by: [OrderGroupBy!]!, $n: Int)" : "";
  const data = await ask(
    `${head} { ${field} { groupedAggregates(${args}) { keys count } } }`,
    variables,
  );
  return data[field.replace(/\(.*/, "")].groupedAggregates.map(
    ({ keys, count }: { keys: string[]; count: number }) => [...keys, count],
  );
}

describe("the aggregates of a connection", () => {
  test("are sums, averages, counts, minima and maxima of all matches, on every page", async () => {
    const { orders } = await ask(
      `{ orders(first: 1, offset: 1, orderBy: [TOTAL_AMOUNT_DESC]) { nodes { erpOrderNumber } aggregates { count keys
         sum { totalAmount } average { totalAmount } min { totalAmount placedAt } max { totalAmount placedAt }
         distinctCount { customerId status } } } }`,
    );
    expect(orders.nodes).toEqual([{ erpOrderNumber: "b" }]);
    expect(orders.aggregates).toMatchObject({
      count: 4,
      keys: [],
      sum: { totalAmount: "60.51" },
      min: { totalAmount: "0.01", placedAt: "2026-01-31T23:59:59.999Z" },
      max: { totalAmount: "30.00", placedAt: "2026-03-01T00:00:00.000Z" },
      distinctCount: { customerId: "2", status: "3" },
    });
    expect(Number(orders.aggregates.average.totalAmount)).toBe(15.1275);
  });

  test("respect the query", async () => {
    const { orders } = await ask(
      `{ orders(query: "status:OPEN") { aggregates { count sum { totalAmount } } } }`,
    );
    expect(orders.aggregates).toEqual({ count: 2, sum: { totalAmount: "40.50" } });
  });

  test("of no rows are zero and null", async () => {
    const { orders } = await ask(
      `{ orders(query: "totalAmount:>1000") { aggregates { count sum { totalAmount } max { totalAmount } }
         groupedAggregates(groupBy: [STATUS]) { count } } }`,
    );
    expect(orders).toEqual({
      aggregates: { count: 0, sum: { totalAmount: "0" }, max: { totalAmount: null } },
      groupedAggregates: [],
    });
  });

  test("are returned beside a total and with an order from a variable", async () => {
    const { orders } = await ask(
      `query ($o: [OrderOrderBy!], $q: String) { orders(orderBy: $o, query: $q, first: 1, includeTotalCount: true) {
         totalCount nodes { erpOrderNumber } aggregates { count } groupedAggregates(groupBy: [CUSTOMER_ID]) { count } } }`,
      { o: ["TOTAL_AMOUNT_ASC"], q: "NOT status:CANCELLED" },
    );
    expect(orders).toEqual({
      totalCount: 3,
      nodes: [{ erpOrderNumber: "a" }],
      aggregates: { count: 3 },
      groupedAggregates: expect.arrayContaining([{ count: 2 }, { count: 1 }]),
    });
  });

  test("of related connections are computed per row", async () => {
    const { customers } = await ask(
      `{ customers { nodes { name orders { aggregates { count sum { totalAmount } }
         groupedAggregates(groupBy: [STATUS]) { keys count } } } } }`,
    );
    expect(customers.nodes).toEqual([
      {
        name: "One",
        orders: {
          aggregates: { count: 2, sum: { totalAmount: "30.50" } },
          groupedAggregates: [
            { keys: ["OPEN"], count: 1 },
            { keys: ["SHIPPED"], count: 1 },
          ],
        },
      },
      {
        name: "Two",
        orders: {
          aggregates: { count: 2, sum: { totalAmount: "30.01" } },
          groupedAggregates: [
            { keys: ["OPEN"], count: 1 },
            { keys: ["CANCELLED"], count: 1 },
          ],
        },
      },
    ]);
  });
});

describe("groups", () => {
  test("are by month in UTC, in the order of the months", async () => {
    expect(await counts("orders", "groupBy: [PLACED_AT_TRUNCATED_TO_MONTH]")).toEqual([
      ["2026-01-01T00:00:00.000Z", 1],
      ["2026-02-01T00:00:00.000Z", 2],
      ["2026-03-01T00:00:00.000Z", 1],
    ]);
  });

  test("are by enumeration value, in the order of the enumeration", async () => {
    expect(await counts("orders", "groupBy: [STATUS]")).toEqual([
      ["OPEN", 2],
      ["SHIPPED", 1],
      ["CANCELLED", 1],
    ]);
  });

  test("are by vintage, with null last, each with its aggregates", async () => {
    expect(await counts("products", "groupBy: [VINTAGE]")).toEqual([
      ["2005", 3],
      ["2010", 3],
      [null, 3],
    ]);
    const { products } = await ask(
      `{ products(query: "isActive:true") { groupedAggregates(groupBy: [VINTAGE]) { keys sum { stockQuantity } average { stockQuantity } max { stockQuantity } } } }`,
    );
    expect(products.groupedAggregates[0]).toMatchObject({
      keys: ["2005"],
      sum: { stockQuantity: "4" },
      max: { stockQuantity: 4 },
    });
  });

  test("distinguish null from an empty value", async () => {
    expect(await counts("orders", "groupBy: [PAYMENT_METHOD]")).toEqual([
      ["", 1],
      ["Card", 2],
      [null, 1],
    ]);
  });

  test("are by several keys, in pages", async () => {
    const by = ["CUSTOMER_NAME", "STATUS", "PLACED_AT_TRUNCATED_TO_YEAR"];
    const year = "2026-01-01T00:00:00.000Z";
    const all = await counts("orders", "groupBy: $by, first: $n", { by, n: null });
    expect(all).toEqual([
      [null, "OPEN", year, 2],
      [null, "SHIPPED", year, 1],
      [null, "CANCELLED", year, 1],
    ]);
    expect(await counts("orders", "groupBy: $by, first: $n", { by, n: 2 })).toEqual(
      all.slice(0, 2),
    );
    expect(await counts("orders", "groupBy: $by, first: $n, offset: 1", { by, n: 1 })).toEqual(
      all.slice(1, 2),
    );
  });

  test.each([
    ["groupBy: []", "groupBy", "groupBy must name one key at least"],
    ["groupBy: [STATUS], first: 1001", "first", "first must be from 0 to 1000"],
    ["groupBy: [STATUS], first: -1", "first", "first must be from 0 to 1000"],
    ["groupBy: [STATUS], offset: -1", "offset", "offset must be 0 or more"],
  ])("reject %s", async (args, name, message) => {
    const { data, errors } = await service.ask(
      `{ orders { groupedAggregates(${args}) { count } } }`,
      { token },
    );
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      { message, extensions: { code: "BAD_USER_INPUT", path: [name] } },
    ]);
  });
});

describe("columns that a caller cannot read", () => {
  test("have no aggregate", async () => {
    const caller = await service.login(["customers.read"]);
    const { data } = await service.ask(
      `{ customers { aggregates { count } nodes { orders { aggregates { count sum { totalAmount } } groupedAggregates(groupBy: [STATUS]) { count } } } } }`,
      caller,
    );
    expect(data.customers.aggregates).toEqual({ count: 2 });
    expect(data.customers.nodes[0].orders).toEqual({
      aggregates: { count: 0, sum: { totalAmount: "0" } },
      groupedAggregates: [],
    });
    const { errors } = await service.ask("{ orders { aggregates { count } } }", caller);
    expect(errors?.[0]?.message).toBe("Missing required permission: orders.read");
  });

  test("hidden columns and tables without pages have no aggregates", async () => {
    const { data } = await service.ask(
      "{ __schema { types { name fields { name } enumValues { name } } } }",
      { token },
    );
    const types: { name: string; fields: { name: string }[] | null }[] = data.__schema.types;
    const containers = types.filter(({ name }) => name.endsWith("GroupBy"));
    expect(containers.map(({ name }) => name).toSorted()).toEqual(
      expect.arrayContaining(["CustomerGroupBy", "OrderGroupBy", "ProductGroupBy"]),
    );
    const named = types.map(({ name }) => name);
    for (const table of ["Session", "AuditLog", "OrderLine", "ProductPrice"])
      expect(
        named.filter((name) => name.startsWith(table) && /Aggregate|GroupBy/.test(name)),
      ).toEqual([]);
    expect(named.filter((name) => /Having|Stddev|Variance/.test(name))).toEqual([]);
  });
});
