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
});
afterAll(() => database.drop());

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);
const customers = [erpCustomer("C1")];
const numbers = async (client: pg.ClientBase) => {
  const { rows } = await client.query<{ n: string }>(
    "select erp_order_number as n from orders order by 1",
  );
  return rows.map((row) => row.n);
};
const failures = async (client: pg.ClientBase) => {
  const { rows } = await client.query(
    "select record, erp_order_number, message, path, xmin::text from erp_import_failures order by record",
  );
  return rows;
};

describe("a bad order", () => {
  test.each([
    ["salesperson", { salesperson: "x".repeat(201) }, "salesperson must be 200 characters at most"],
    [
      "netAmount",
      { netAmount: "9999999999999" },
      "netAmount must be a decimal below 1000000000000",
    ],
    [
      "erpOrderNumber",
      { number: "é\u0007" },
      "erpOrderNumber must be 1 to 50 printable characters",
    ],
    [
      "lines[1].lineNumber",
      { lines: [erpLine(1), erpLine(1)] },
      "lines[1].lineNumber is that of another line, too",
    ],
    [
      "lines[0].description",
      { lines: [erpLine(1, { description: "x".repeat(2001) })] },
      "lines[0].description must be 2000",
    ],
  ])("is recorded and stops no other: %s", (path, changes, message) =>
    rolledBack(async (client) => {
      const bad = erpOrder("2", changes);
      const counts = await importErpResponse(client, {
        orders: [erpOrder("1"), bad, erpOrder("3")],
        customers,
      });
      expect(counts).toMatchObject({ done: 3, created: 2, failed: 1 });
      expect(await numbers(client)).toEqual(["1", "3"]);
      expect(await failures(client)).toMatchObject([
        {
          record: `order ${bad.number}`,
          erp_order_number: bad.number,
          path,
          message: expect.stringContaining(message),
        },
      ]);
    }),
  );

  test("is recorded once for the same failure, and removed after a valid import", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [erpOrder("1")], customers });
      const bad = erpOrder("1", { revision: "2", salesperson: "x".repeat(201) });
      await importErpResponse(client, { orders: [bad] });
      const noted = await failures(client);
      expect(noted).toHaveLength(1);
      await importErpResponse(client, { orders: [bad] });
      expect(await failures(client)).toEqual(noted);
      await importErpResponse(client, { orders: [erpOrder("1", { revision: "3" })] });
      expect(await failures(client)).toEqual([]);
    }));

  test.each(["customers", "orders", "order_lines"])(
    "is isolated when only a deployment's trigger on %s rejects it",
    (table) =>
      rolledBack(async (client) => {
        await client.query(
          `create function own_rule() returns trigger as $$ begin
             if to_jsonb(new)::text ~ 'forbidden' then raise 'no' using errcode = '23514'; end if; return new; end $$ language plpgsql;
           create trigger own_rule before insert on ${table} for each row execute function own_rule()`,
        );
        const records = Array.from({ length: 50 }, (_, n) => String(100 + n));
        const bad = { name: "forbidden" };
        const counts = await importErpResponse(client, {
          customers: [...customers, ...records.map((n) => erpCustomer(n, n === "137" ? bad : {}))],
          orders: records.map((n) =>
            erpOrder(
              n,
              n === "137"
                ? { salesperson: "forbidden", lines: [erpLine(1, { description: "forbidden" })] }
                : {},
            ),
          ),
        });
        expect(counts).toMatchObject({
          done: 50,
          created: table === "customers" ? 50 : 49,
          failed: 1,
        });
        expect(await failures(client)).toMatchObject([
          {
            record: `${table === "customers" ? "customer" : "order"} 137`,
            message: "The database refuses the record (23514)",
          },
        ]);
        const { rows } = await client.query(
          "select (select count(*)::integer from customers) as customers, (select count(*)::integer from orders) as orders",
        );
        expect(rows).toEqual([
          table === "customers" ? { customers: 50, orders: 50 } : { customers: 51, orders: 49 },
        ]);
      }),
  );
});

describe("a record that the ERP's client cannot read", () => {
  const unreadable = {
    number: "7",
    id: "id-7",
    revision: "1",
    path: "salesOrderLines[2].quantity",
    message: "must be a number",
  };

  test("is recorded, by its id when its number is invalid, until it is valid", () =>
    rolledBack(async (client) => {
      const counts = await importErpResponse(client, {
        orders: [erpOrder("1")],
        customers,
        unreadableOrders: [unreadable, { ...unreadable, number: null, id: "id-8" }],
        unreadableCustomers: [{ ...unreadable, number: "C7" }],
      });
      expect(counts).toMatchObject({ done: 3, created: 1, failed: 3 });
      expect(await failures(client)).toMatchObject([
        { record: "customer C7", erp_order_number: null },
        {
          record: "order 7",
          erp_order_number: "7",
          path: unreadable.path,
          message: unreadable.message,
        },
        { record: "order id-8", erp_order_number: null },
      ]);
      await importErpResponse(client, {
        orders: [erpOrder("7"), erpOrder("8")],
        customers: [erpCustomer("C7")],
      });
      expect(await failures(client)).toEqual([]);
    }));
});

describe("a bad customer", () => {
  test("is recorded; its orders are imported with an issue for the missing customer", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, {
        orders: [erpOrder("1"), erpOrder("2", { customerNumber: "C2" })],
        customers: [...customers, erpCustomer("C2", { phone: "1".repeat(81) })],
      });
      expect(await failures(client)).toMatchObject([
        { record: "customer C2", path: "phone", message: "phone must be 80 characters at most" },
      ]);
      const { rows } = await client.query("select code, key from order_import_issues");
      expect(rows).toEqual([{ code: "customer.missing", key: "C2" }]);
    }));
});
