import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let token: string;

const rows = `
  insert into customers (erp_customer_number, name, city, country, currency, vat_number, credit_limit)
  values ('000042', 'Vinhandel Ærø', 'Marstal', 'Denmark', 'DKK', 'DK12345678', 5000), ('42', 'Weinhaus', 'Trier', 'Germany', 'EUR', null, null);
  insert into products (erp_product_number, name) values ('0007', 'Barolo Bussia');
  insert into orders (erp_order_number, customer_id, erp_customer_number, customer_name, customer_reference, placed_at, status,
    currency, net_amount, vat_amount, total_amount, payment_method, delivery_name, delivery_city)
  select v.number, c.id, v.customer, coalesce(c.name, 'Unknown'), v.reference, v.placed::timestamptz, v.status::order_status,
    'DKK', v.net, v.net / 4, v.net * 1.25, v.payment, 'Kælder Å', 'Marstal'
  from (values
    ('00100', '000042', 'PO-7', '2026-03-01T10:00:00Z', 'OPEN', 1000, 'Card'),
    ('100', '42', null, '2026-03-02T10:00:00Z', 'SHIPPED', 200.5, null),
    ('101', '000042', 'Fête', '2026-02-01T10:00:00Z', 'CANCELLED', 80, 'Invoice'),
    ('102', '77', null, '2026-04-01T00:00:00Z', 'OPEN', 40, null)
  ) as v(number, customer, reference, placed, status, net, payment)
  left join customers c on c.erp_customer_number = v.customer;
  insert into order_lines (order_id, line_number, kind, product_id, erp_product_number, description, quantity, unit_price, amount, vat_code)
  select o.id, l.n, l.kind::order_line_kind, p.id, l.number, l.text, l.quantity, l.price, l.quantity * l.price, 'STANDARD'
  from orders o, (values (20000, 'SHIPPING', null, 'Freight', 1, 100), (10000, 'PRODUCT', '0007', 'Barolo', 6, 150), (30000, null, '0008', 'What is it', 1.5, 0.0001))
    as l(n, kind, number, text, quantity, price)
  left join products p on p.erp_product_number = l.number
  where o.erp_order_number = '00100';
  update orders o set superseded_by_order_id = s.id from orders s where o.erp_order_number = '101' and s.erp_order_number = '00100';`;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(rows);
  ({ token } = await service.login(["orders.read", "customers.read", "products.read"]));
});
afterAll(async () => {
  await service.stop();
});

async function found(query: string): Promise<string[]> {
  const { data, errors } = await service.ask(
    "query ($query: String) { orders(query: $query) { nodes { erpOrderNumber } } }",
    { token, variables: { query } },
  );
  expect(errors).toBeUndefined();
  return data.orders.nodes.map((node: { erpOrderNumber: string }) => node.erpOrderNumber);
}

describe("an order", () => {
  test("has its customer, its sorted lines and the order that superseded it", async () => {
    const { data, errors } = await service.ask(
      `{ orders(query: "erpOrderNumber:IN(\\"00100\\", \\"101\\")") { nodes {
           erpOrderNumber status currency netAmount vatAmount totalAmount placedAt paymentMethod deliveryName
           hasImportMappingIssue hasImportDataIssue importIssues { id }
           customer { erpCustomerNumber name creditLimit } supersededBy { erpOrderNumber }
           lines { lineNumber kind erpProductNumber description quantity unitPrice amount vatCode product { name } } } } }`,
      { token },
    );
    expect(errors).toBeUndefined();
    const [order, older] = data.orders.nodes;
    expect(order).toEqual({
      erpOrderNumber: "00100",
      status: "OPEN",
      currency: "DKK",
      netAmount: "1000.00",
      vatAmount: "250.00",
      totalAmount: "1250.00",
      placedAt: "2026-03-01T10:00:00.000Z",
      paymentMethod: "Card",
      deliveryName: "Kælder Å",
      hasImportMappingIssue: false,
      hasImportDataIssue: false,
      importIssues: [],
      customer: { erpCustomerNumber: "000042", name: "Vinhandel Ærø", creditLimit: "5000.00" },
      supersededBy: null,
      lines: [
        expect.objectContaining({ lineNumber: 10000, product: { name: "Barolo Bussia" } }),
        expect.objectContaining({ kind: "SHIPPING", erpProductNumber: null, product: null }),
        {
          lineNumber: 30000,
          kind: null,
          erpProductNumber: "0008",
          description: "What is it",
          quantity: "1.500",
          unitPrice: "0.0001",
          amount: "0.00",
          vatCode: "STANDARD",
          product: null,
        },
      ],
    });
    expect(older.supersededBy).toEqual({ erpOrderNumber: "00100" });
  });

  test.each([
    ["erpOrderNumber:100", ["100"]],
    ["00100", ["00100"]],
    ["aero", ["00100", "101"]],
    ["fete", ["101"]],
    ["status:OPEN", ["102", "00100"]],
    ["totalAmount:>=250.62 status:IN(SHIPPED, OPEN)", ["100", "00100"]],
    ["NOT paymentMethod:*", ["102", "100"]],
    ["placedAt:2026-03", ["100", "00100"]],
    ["customer.country:germany", ["100"]],
    ["lines.product.name:barolo*", ["00100"]],
    ["lines.erpProductNumber:0008", ["00100"]],
    ["NOT customerId:*", ["102"]],
    ["supersededByOrderId:*", ["101"]],
  ])("is found by %s, latest first", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  test("is found from its products, with the customer who bought", async () => {
    const { data, errors } = await service.ask(
      `{ products(query: "orderLines.order.customerName:Vinhandel*") { nodes {
           name orderLines { nodes { quantity order { erpOrderNumber customer { name } } } } } } }`,
      { token },
    );
    expect(errors).toBeUndefined();
    const order = { erpOrderNumber: "00100", customer: { name: "Vinhandel Ærø" } };
    expect(data.products.nodes).toEqual([
      { name: "Barolo Bussia", orderLines: { nodes: [{ quantity: "6.000", order }] } },
    ]);
  });

  test("cannot be written through the API, like customers", async () => {
    const { data } = await service.ask("{ __schema { mutationType { fields { name } } } }", {
      token,
    });
    const names: { name: string }[] = data.__schema.mutationType.fields;
    // Except ERP imports and customer notes.
    const writes = names.filter(({ name }) =>
      /^(?!importErp|anonymise).*(Customer(?!Note)|Order(?!Import))/.test(name),
    );
    expect(writes).toEqual([]);
    const reader = await service.database.pool.query(
      `select table_name from information_schema.role_table_grants
       where grantee = 'office_api' and privilege_type <> 'SELECT'
         and table_name in ('customers', 'orders', 'order_lines', 'order_import_issues')`,
    );
    expect(reader.rows).toEqual([]);
  });
});

describe("a caller without the permission", () => {
  test.each(["orders", "customers"])("is denied %s", async (field) => {
    const caller = await service.login(["products.read"]);
    const { data, errors } = await service.ask(`{ ${field} { nodes { id } } }`, caller);
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: `Missing required permission: ${field}.read`,
        extensions: { code: "FORBIDDEN", requiredPermission: `${field}.read` },
      },
    ]);
  });

  test("to read customers or products sees orders without them, and customers without orders", async () => {
    const orders = await service.login(["orders.read"]);
    const first = await service.ask(
      `{ orders(query: "00100") { nodes { customerName customer { id } lines(first: 1) { erpProductNumber product { id } } } } }`,
      orders,
    );
    expect(first.data.orders.nodes).toEqual([
      {
        customerName: "Vinhandel Ærø",
        customer: null,
        lines: [{ erpProductNumber: "0007", product: null }],
      },
    ]);
    const customers = await service.login(["customers.read"]);
    const second = await service.ask(
      `{ customers { nodes { name orders(includeTotalCount: true) { totalCount nodes { id } } } } }`,
      customers,
    );
    expect(second.data.customers.nodes[0].orders).toEqual({ totalCount: 0, nodes: [] });
  });

  test("with a token scoped to orders reads them", async () => {
    const { userId } = await service.login(["orders.read", "customers.read"]);
    const scoped = await insertApiToken(service.database, userId, ["orders.read"]);
    const { data } = await service.ask("{ orders { nodes { erpOrderNumber } } }", scoped);
    expect(data.orders.nodes).toHaveLength(4);
    const { errors } = await service.ask("{ customers { nodes { id } } }", scoped);
    expect(errors?.[0]?.message).toBe("Missing required permission: customers.read");
  });
});

describe("the audit log", () => {
  test("records the reader of orders, the orders and their number", async () => {
    const caller = await service.login(["orders.read"]);
    const { headers } = await service.ask(
      `query Late { orders(query: "status:OPEN", first: 10) { nodes { id } } }`,
      caller,
    );
    const audited = await service.database.pool.query(
      `select actor_user_id, operation, entity_type, entity_id, metadata from audit_log where correlation_id = $1`,
      [headers.get("x-correlation-id")],
    );
    expect(audited.rows).toEqual([
      {
        actor_user_id: caller.userId,
        operation: "READ",
        entity_type: "Order",
        entity_id: null,
        metadata: {
          source: "api",
          operation: "Late",
          field: "orders",
          arguments: { query: "status:OPEN", first: 10 },
          rows: 2,
        },
      },
    ]);
  });

  test("records changes of an order, its lines and its customer, but not of flags derived from issues", async () => {
    const { pool } = service.database;
    await pool.query(
      `insert into order_import_issues (order_id, kind, code, key, message)
       select id, 'DATA', 'price.missing', '', 'No price' from orders where erp_order_number = '102';
       update orders set status = 'INVOICED' where erp_order_number = '102';
       update customers set is_blocked = true where erp_customer_number = '42';
       update order_lines set quantity = 2 where line_number = 30000;
       delete from order_import_issues;
       update orders set status = 'OPEN' where erp_order_number = '102'`,
    );
    const audited = await pool.query(
      `select entity_type, after from audit_log where operation = 'UPDATE' and metadata ->> 'source' = 'db'
         and entity_type in ('Order', 'Customer', 'OrderLine') order by id`,
    );
    expect(audited.rows.slice(-4)).toEqual([
      { entity_type: "Order", after: { status: "INVOICED" } },
      { entity_type: "Customer", after: { isBlocked: true } },
      { entity_type: "OrderLine", after: { quantity: 2 } },
      { entity_type: "Order", after: { status: "OPEN" } },
    ]);
  });
});

test("the orders of a product are found once each, newest first", async () => {
  const { rows: products } = await service.database.pool.query<{ id: string }>(
    `with bought as (insert into products (erp_product_number, name) values ('0009', 'Chablis') returning id), sold as (
       insert into orders (erp_order_number, customer_name, placed_at, status, currency, net_amount, total_amount)
       select n, 'Unknown', d::timestamptz, 'OPEN', 'DKK', 1, 1
       from (values ('201', '2026-03-05'), ('202', '2026-03-07'), ('203', '2026-03-06')) as v(n, d)
       returning id, erp_order_number
     ), lines as (
       insert into order_lines (order_id, line_number, kind, product_id, description, quantity, unit_price, amount)
       select s.id, n, 'PRODUCT', case when s.erp_order_number <> '203' then b.id end, 'Chablis', 1, 1, 1
       from sold s, bought b, unnest(array[10000, 20000]) as n
     )
     select id from bought`,
  );
  const { data, errors } = await service.ask(
    `query ($query: String!) { orders(query: $query, includeTotalCount: true) { totalCount nodes { erpOrderNumber } } }`,
    { token, variables: { query: `lines.productId:${products[0]!.id}` } },
  );
  expect(errors).toBeUndefined();
  expect(data.orders).toEqual({
    totalCount: 2,
    nodes: [{ erpOrderNumber: "202" }, { erpOrderNumber: "201" }],
  });
});
