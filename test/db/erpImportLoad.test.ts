import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { countStatements } from "../helpers/countStatements.ts";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import type { ErpAnswer } from "../helpers/erpRecords.ts";
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

/** A page in which every tenth order has an issue. */
function page(size: number, revision = "1"): ErpAnswer {
  const numbers = Array.from({ length: size }, (_, n) => n);
  return {
    customers: numbers.map((n) => erpCustomer(`C${n}`, { name: `Customer ${revision}`, revision })),
    orders: numbers.map((n) =>
      erpOrder(String(1_000 + n), {
        revision,
        customerNumber: `C${n}`,
        lines: [
          erpLine(1, { quantity: revision }),
          erpLine(2, { productGroup: n % 10 === 0 ? "GLASS" : "WINE" }),
        ],
      }),
    ),
  };
}

describe("a page of a thousand orders", () => {
  test.each(["new", "changed", "as they were"])(
    "takes as many SQL statements as a page of ten: %s orders",
    (kind) =>
      inTransaction(database.pool, async (client) => {
        const counts: number[] = [];
        for (const size of [10, 1_000]) {
          await client.query("savepoint before");
          if (kind !== "new") await importErpResponse(client, page(size));
          const answer = page(size, kind === "changed" ? "2" : "1");
          counts.push(await countStatements(client, () => importErpResponse(client, answer)));
          await client.query("rollback to before");
        }
        expect(counts[0]).toBeGreaterThan(20);
        expect(counts[1]).toBe(counts[0]);
      }),
  );
});

describe("pages that are taken over at the same time", () => {
  const version = (number: string, revision: number) =>
    erpOrder(number, {
      revision: String(revision),
      lastModified: new Date(Date.UTC(2026, 2, 1, 0, 0, revision)).toISOString(),
      salesperson: `S${revision}`,
      customerNumber: `C${Number(number) % 5}`,
      customerReference: String(Number(number) - 1),
      lines: Array.from({ length: 1 + (revision % 3) }, (_, n) =>
        erpLine(n + 1, { productGroup: revision % 2 === 0 ? "GLASS" : "WINE" }),
      ),
    });

  test("result in the newest version of each order and customer, once", async () => {
    const numbers = Array.from({ length: 20 }, (_, n) => String(100 + n));
    const pages = Array.from({ length: 24 }, (_, revision) => {
      const orders = numbers.map((number) => version(number, revision));
      const customers = Array.from({ length: 5 }, (_, n) =>
        erpCustomer(`C${n}`, { name: `Name ${revision}`, lastModified: orders[0]!.lastModified }),
      );
      return revision % 2 === 0
        ? { orders, customers }
        : { orders: orders.toReversed(), customers: customers.toReversed() };
    });
    const shuffled = pages.map((_, n) => pages[(n * 7) % pages.length]!);
    await Promise.all(shuffled.map((answer) => importErpResponse(database.pool, answer)));
    const { rows } = await database.pool.query(
      `select o.salesperson, c.name, o.has_import_mapping_issue as gap, count(*)::integer as orders,
         sum((select count(*) from order_lines l where l.order_id = o.id))::integer as lines,
         count(o.superseded_by_order_id)::integer as superseded
       from orders o join customers c on c.id = o.customer_id where o.erp_order_number = any ($1) group by 1, 2, 3`,
      [numbers],
    );
    expect(rows).toEqual([
      // An odd revision has three lines; orders of one customer do not refer to each other here.
      { salesperson: "S23", name: "Name 23", gap: false, orders: 20, lines: 60, superseded: 0 },
    ]);
  });

  test("wait for a concurrent change of an order and keep it", async () => {
    const number = "900";
    await importErpResponse(database.pool, { orders: [version(number, 1)] });
    const colleague = await database.pool.connect();
    try {
      await colleague.query(
        "begin; update orders set note = 'Call first' where erp_order_number = '900'",
      );
      const importing = importErpResponse(database.pool, { orders: [version(number, 2)] });
      await colleague.query("commit");
      expect(await importing).toMatchObject({ updated: 1 });
    } finally {
      colleague.release();
    }
    const { rows } = await database.pool.query(
      "select note, salesperson from orders where erp_order_number = '900'",
    );
    expect(rows).toEqual([{ note: "Call first", salesperson: "S2" }]);
  });
});
