import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import {
  erpCustomer,
  erpLine,
  erpOrder,
  importErpResponse,
  resetRules,
} from "../helpers/erpRecords.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await resetRules(database.pool);
  await database.pool.query(
    "insert into products (erp_product_number, name) values ('1000', 'Chinon')",
  );
});
afterAll(() => database.drop());

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);
const customers = [erpCustomer("C1")];

async function order(client: pg.ClientBase, number: string) {
  const { rows } = await client.query(
    `select o.*, s.erp_order_number as superseded_by from orders o left join orders s on s.id = o.superseded_by_order_id
     where o.erp_order_number = $1`,
    [number],
  );
  return rows[0];
}

/** All rows that an import may write, with their versions. */
async function everything(client: pg.ClientBase) {
  const tables = ["customers", "orders", "order_lines", "order_import_issues", "audit_log"];
  const parts = tables.map(
    (table) =>
      `select '${table}' as place, t.xmin::text, t.ctid::text, to_jsonb(t)::text from ${table} t`,
  );
  const { rows } = await client.query(`${parts.join(" union all ")} order by 1, 4`);
  return rows;
}

describe("an order of the ERP", () => {
  test("is imported with its customer, lines and mapped codes", () =>
    rolledBack(async (client) => {
      const counts = await importErpResponse(client, { orders: [erpOrder("1001")], customers });
      expect(counts).toMatchObject({ done: 1, created: 1, updated: 0, failed: 0, customers: 1 });
      expect(await order(client, "1001")).toMatchObject({
        customer_name: "Vinbaren",
        placed_at: new Date("2026-03-01T00:00:00Z"),
        status: "OPEN",
        currency: "DKK",
        payment_method: "BANK_TRANSFER",
        erp_payment_method: "BANK",
        shipping_method: "FREIGHT",
        warehouse: "MAIN",
        net_amount: "600.00",
        delivery_city: "København",
        has_import_mapping_issue: false,
        has_import_data_issue: false,
        erp_revision: "1",
      });
      const { rows } = await client.query(
        `select l.kind, l.quantity, l.unit_price, l.vat_code, l.warehouse, p.name, c.name as customer
         from orders o join order_lines l on l.order_id = o.id join products p on p.id = l.product_id
           join customers c on c.id = o.customer_id`,
      );
      expect(rows).toEqual([
        {
          kind: "PRODUCT",
          quantity: "6.000",
          unit_price: "100.0000",
          vat_code: "STANDARD",
          warehouse: "MAIN",
          name: "Chinon",
          customer: "Customer C1",
        },
      ]);
    }));

  test("has its date in the merchant's time zone", () =>
    rolledBack(async (client) => {
      await importErpResponse(
        client,
        { orders: [erpOrder("1", { orderDate: "2026-07-01" })] },
        "Europe/Copenhagen",
      );
      expect((await order(client, "1")).placed_at).toEqual(new Date("2026-06-30T22:00:00Z"));
    }));

  test("has prices without VAT, also from an ERP with prices including VAT", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, {
        orders: [
          erpOrder("1", { pricesIncludeVat: true, lines: [erpLine(1, { unitPrice: "125" })] }),
        ],
      });
      const { rows } = await client.query("select unit_price from order_lines");
      expect(rows).toEqual([{ unit_price: "100.0000" }]);
    }));

  test("writes nothing when it is unchanged", () =>
    rolledBack(async (client) => {
      const answer = {
        orders: [
          erpOrder("1001"),
          erpOrder("1002", {
            lines: [erpLine(1, { productGroup: "GLASS" })],
            customerReference: "1001",
          }),
        ],
        customers,
      };
      await importErpResponse(client, answer);
      const before = await everything(client);
      expect(before.length).toBeGreaterThan(8);
      const counts = await importErpResponse(client, answer);
      expect(counts).toMatchObject({ done: 2, created: 0, updated: 0, unchanged: 2 });
      expect(await everything(client)).toEqual(before);
    }));

  test("writes only changed columns and lines", () =>
    rolledBack(async (client) => {
      const lines = [erpLine(10000), erpLine(20000), erpLine(30000)];
      await importErpResponse(client, { orders: [erpOrder("1", { lines })], customers });
      const { rows: before } = await client.query(
        "select xmin::text, id, line_number from order_lines order by 3",
      );
      const counts = await importErpResponse(client, {
        orders: [
          erpOrder("1", {
            revision: "2",
            lastModified: "2026-03-02T10:00:00Z",
            status: "SHIPPED",
            lines: [erpLine(10000), erpLine(20000, { quantity: "7" }), erpLine(40000)],
          }),
        ],
      });
      expect(counts).toMatchObject({ updated: 1, unchanged: 0 });
      expect(await order(client, "1")).toMatchObject({ status: "SHIPPED", erp_revision: "2" });
      const { rows: after } = await client.query(
        "select id, line_number, quantity from order_lines order by line_number",
      );
      expect(after).toEqual([
        { id: before[0].id, line_number: 10000, quantity: "6.000" },
        { id: before[1].id, line_number: 20000, quantity: "7.000" },
        { id: expect.any(String), line_number: 40000, quantity: "6.000" },
      ]);
      const { rows: audit } = await client.query(
        `select operation, entity_type, before, after from audit_log
         where operation <> 'CREATE' and entity_type ~ '^Order' order by entity_type, operation`,
      );
      expect(audit).toMatchObject([
        { operation: "UPDATE", entity_type: "Order", after: { status: "SHIPPED" } },
        { operation: "DELETE", entity_type: "OrderLine", before: { lineNumber: 30000 } },
        {
          operation: "UPDATE",
          entity_type: "OrderLine",
          before: { quantity: 6 },
          after: { quantity: 7 },
        },
      ]);
    }));

  test("is never overwritten by an older version, in the same page or a later one", () =>
    rolledBack(async (client) => {
      const older = erpOrder("1", { salesperson: "OLD" });
      const newer = erpOrder("1", {
        salesperson: "NEW",
        revision: "2",
        lastModified: "2026-03-02T10:00:00.123Z",
      });
      for (const orders of [[newer, older], [older], [older, newer]]) {
        await importErpResponse(client, { orders });
        expect(await order(client, "1")).toMatchObject({ salesperson: "NEW", erp_revision: "2" });
      }
    }));

  test("marks the order that it supersedes, in any order of import", () =>
    rolledBack(async (client) => {
      const older = (number: string) => erpOrder(number);
      const newer = (number: string, reference: string) =>
        erpOrder(number, { customerReference: reference, orderDate: "2026-03-04" });
      await importErpResponse(client, { orders: [older("1"), newer("2", "1")] });
      await importErpResponse(client, { orders: [newer("4", "3")] });
      await importErpResponse(client, { orders: [older("3")] });
      // A reference that happens to be the number of another customer's order supersedes nothing.
      await importErpResponse(client, {
        orders: [older("5"), { ...newer("6", "5"), customerNumber: "C2" }],
      });
      // An older order supersedes nothing, and no order supersedes itself.
      await importErpResponse(client, {
        orders: [newer("8", "9"), newer("9", "8"), newer("7", "7")],
      });
      const marks: Record<string, unknown> = {};
      for (const n of ["1", "2", "3", "4", "5", "7", "8", "9"])
        marks[n] = (await order(client, n)).superseded_by;
      expect(marks).toEqual({
        1: "2",
        2: null,
        3: "4",
        4: null,
        5: null,
        7: null,
        8: "9",
        9: null,
      });
      await importErpResponse(client, {
        orders: [{ ...newer("2", "mine"), revision: "2", lastModified: "2026-03-05T00:00:00Z" }],
      });
      expect(await order(client, "1")).toMatchObject({ superseded_by: null });
    }));
});

describe("a customer of the ERP", () => {
  test("is updated, except by an older version", () =>
    rolledBack(async (client) => {
      const stored = async () => {
        const { rows } = await client.query(
          "select name, is_blocked, balance_due, credit_limit, xmin::text from customers where erp_customer_number = 'C1'",
        );
        return rows[0];
      };
      await importErpResponse(client, { customers });
      expect(await stored()).toMatchObject({
        name: "Customer C1",
        is_blocked: false,
        balance_due: "12.50",
        credit_limit: null,
      });
      const newer = erpCustomer("C1", {
        name: "New",
        blocked: "ALL",
        lastModified: "2026-03-02T10:00:00Z",
      });
      await importErpResponse(client, { customers: [newer] });
      await importErpResponse(client, { customers });
      expect(await stored()).toMatchObject({ name: "New", is_blocked: true });
    }));

  test("is linked to orders that waited for it", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [erpOrder("1")] });
      expect(await order(client, "1")).toMatchObject({
        customer_id: null,
        has_import_data_issue: true,
      });
      await importErpResponse(client, { customers });
      expect(await order(client, "1")).toMatchObject({
        customer_id: expect.any(String),
        has_import_data_issue: false,
      });
    }));
});

describe("a line about a product that is not in the catalogue", () => {
  test("is linked after the product is added", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, {
        orders: [
          erpOrder("1", {
            lines: [erpLine(1, { itemNumber: "2000" }), erpLine(2, { itemNumber: "3000" })],
          }),
        ],
        customers,
      });
      expect(await order(client, "1")).toMatchObject({ has_import_data_issue: false });
      await client.query(
        "insert into products (erp_product_number, name) values ('2000', 'Bourgueil')",
      );
      const { rows } = await client.query(
        "select link_order_lines(10) as one, link_order_lines(10) as again",
      );
      expect(rows).toEqual([{ one: 1, again: 0 }]);
      const { rows: lines } = await client.query(
        "select p.name from order_lines l left join products p on p.id = l.product_id order by l.line_number",
      );
      expect(lines).toEqual([{ name: "Bourgueil" }, { name: null }]);
    }));
});
