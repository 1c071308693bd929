import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(
    `insert into customers (erp_customer_number, name, contact_name, email, city, country, vat_number, is_blocked) values
       ('0042', 'Vinhandel Ærø', 'Søren Å', 'post@aero.example', 'Marstal', 'Denmark', 'DK 123', false),
       ('42', 'Weinhaus Trier', null, null, 'Trier', 'Germany', null, true),
       ('C-7', 'Cave Éclair', 'Zoë', 'zoe@cave.example', 'Lyon', 'France', 'FR 999', false);
     insert into orders (erp_order_number, customer_id, placed_at, total_amount)
     select c.erp_customer_number || '-' || n, c.id, timestamptz '2026-01-01Z' + make_interval(days => n), n * 10
     from customers c, generate_series(1, 3) n where c.erp_customer_number <> '42'`,
  );
  ({ token } = await service.login(["customers.read", "orders.read"]));
});
afterAll(async () => {
  await service.stop();
});

describe("customers", () => {
  test.each([
    ["aero", ["0042"]],
    ["soren", ["0042"]],
    ["zoe@cave.example", ["C-7"]],
    ["lyon", ["C-7"]],
    ["erpCustomerNumber:42", ["42"]],
    ["042", ["0042"]],
    // One or two letters match the start of words only.
    ["42", ["42"]],
    ["country:IN(france, DENMARK)", ["0042", "C-7"]],
    ["vatNumber:dk*", ["0042"]],
    ["isBlocked:true", ["42"]],
    ["orders.totalAmount:30", ["0042", "C-7"]],
    ["NOT orders.id:*", ["42"]],
  ])("are found by %s", async (query, expected) => {
    const { data, errors } = await service.ask(
      "query ($query: String) { customers(query: $query) { nodes { erpCustomerNumber } } }",
      { token, variables: { query } },
    );
    expect(errors).toBeUndefined();
    const numbers = data.customers.nodes.map(
      (node: { erpCustomerNumber: string }) => node.erpCustomerNumber,
    );
    expect(numbers.toSorted()).toEqual(expected);
  });

  test("are sorted by name, each with a page of orders, latest first", async () => {
    const { data, errors } = await service.ask(
      `{ customers(includeTotalCount: true) { totalCount nodes { name orders(first: 2, includeTotalCount: true) {
           totalCount nodes { erpOrderNumber } pageInfo { hasNextPage } } } } }`,
      { token },
    );
    expect(errors).toBeUndefined();
    expect(data.customers.totalCount).toBe(3);
    expect(data.customers.nodes).toEqual([
      {
        name: "Cave Éclair",
        orders: {
          totalCount: 3,
          nodes: [{ erpOrderNumber: "C-7-3" }, { erpOrderNumber: "C-7-2" }],
          pageInfo: { hasNextPage: true },
        },
      },
      {
        name: "Vinhandel Ærø",
        orders: expect.objectContaining({ totalCount: 3 }),
      },
      {
        name: "Weinhaus Trier",
        orders: { totalCount: 0, nodes: [], pageInfo: { hasNextPage: false } },
      },
    ]);
  });

  test("are read by id, which is recorded, and an unknown id is null", async () => {
    const { rows } = await service.database.pool.query<{ id: string }>(
      "select id from customers where erp_customer_number = '0042'",
    );
    const id = rows[0]?.id;
    const orders = await service.database.pool.query<{ id: string }>(
      "select id from orders where erp_order_number = '0042-1'",
    );
    const document = `query ($id: ID!) { customer(id: $id) { name orders(query: "erpOrderNumber:0042-1") { nodes { totalAmount } } } }`;
    const { data, headers } = await service.ask(document, { token, variables: { id } });
    expect(data.customer).toEqual({
      name: "Vinhandel Ærø",
      orders: { nodes: [{ totalAmount: "10.00" }] },
    });
    const audited = await service.database.pool.query(
      "select entity_type, entity_id, metadata -> 'rows' as rows from audit_log where correlation_id = $1 order by entity_type",
      [headers.get("x-correlation-id")],
    );
    expect(audited.rows).toEqual([
      { entity_type: "Customer", entity_id: id, rows: 1 },
      { entity_type: "Order", entity_id: orders.rows[0]?.id, rows: 1 },
    ]);
    const unknown = await service.ask(document, {
      token,
      variables: { id: "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a" },
    });
    expect(unknown).toMatchObject({ data: { customer: null } });
  });

  test("have unique numbers, which are kept byte for byte", async () => {
    await expect(
      service.database.pool.query(
        "insert into customers (erp_customer_number, name) values ('0042', 'Another')",
      ),
    ).rejects.toThrow("customers_erp_customer_number_key");
    const { rows } = await service.database.pool.query(
      "select count(*)::integer as count from customers where erp_customer_number in ('0042', '42', 'c-7')",
    );
    expect(rows).toEqual([{ count: 2 }]);
  });
});
