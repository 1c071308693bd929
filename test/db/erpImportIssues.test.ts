import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import type { ErpAddress, ErpOrder } from "../../src/gateways/erp.ts";
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
const without = (...parts: (keyof ErpAddress)[]) => ({
  ...erpOrder("1").deliveryAddress,
  ...Object.fromEntries(parts.map((part) => [part, null])),
});

async function issues(client: pg.ClientBase) {
  const { rows } = await client.query(
    `select kind, code, key, message, value, path, occurrences from order_import_issues
     where resolved_at is null order by kind, code, key`,
  );
  return rows;
}
async function times(client: pg.ClientBase) {
  const { rows } = await client.query<Record<string, Date | null>>(
    "select first_seen_at, last_seen_at, resolved_at from order_import_issues order by code, key",
  );
  return rows;
}
const flags = async (client: pg.ClientBase) => {
  const { rows } = await client.query(
    "select has_import_mapping_issue as mapping, has_import_data_issue as data from orders",
  );
  return rows[0];
};

describe("a problem of an imported order", () => {
  test.each<[string, Partial<ErpOrder>, object[]]>([
    [
      "a product group without a rule, once for all lines that have it",
      {
        lines: [
          erpLine(1),
          erpLine(2, { productGroup: "GLASS" }),
          erpLine(3, { productGroup: "GLASS" }),
          erpLine(4, {
            type: "ACCOUNT",
            itemNumber: null,
            productGroup: "Account 6610",
            quantity: "0",
          }),
        ],
      },
      [
        {
          kind: "MAPPING",
          code: "line_kind.unmapped",
          key: "Account 6610",
          path: "lines[3].productGroup",
          occurrences: 1,
        },
        {
          kind: "MAPPING",
          code: "line_kind.unmapped",
          key: "GLASS",
          value: "GLASS",
          message: 'No rule says what the product group "GLASS" means',
          path: "lines[1].productGroup",
          occurrences: 2,
        },
      ],
    ],
    [
      "codes of the order without a rule",
      // XXX is the code of ISO 4217 for no currency; there is no rule for it.
      { paymentMethodCode: "CASH", shipmentMethodCode: "DRONE", currencyCode: "XXX" },
      [
        { code: "currency.unmapped", key: "XXX", path: "currencyCode" },
        { code: "payment_method.unmapped", key: "CASH", path: "paymentMethodCode" },
        { code: "shipping_method.unmapped", key: "DRONE", path: "shipmentMethodCode" },
      ],
    ],
    [
      "codes of lines without a rule",
      { lines: [erpLine(1, { vatCode: "NEW", locationCode: "EAST" })] },
      [
        { code: "vat_code.unmapped", key: "NEW", path: "lines[0].vatCode" },
        { code: "warehouse.unmapped", key: "EAST", path: "lines[0].locationCode" },
      ],
    ],
    [
      "a customer whom the ERP does not have",
      { customerNumber: "C9" },
      [{ kind: "DATA", code: "customer.missing", key: "C9", value: "C9", path: "customerNumber" }],
    ],
    ["no customer", { customerNumber: null }, [{ code: "customer.missing", key: "", value: null }]],
    [
      "an address that nobody finds",
      { deliveryAddress: without("postalCode", "city") },
      [
        {
          kind: "DATA",
          code: "address.incomplete",
          key: "postalCode, city",
          message: "The delivery address lacks postalCode, city",
          path: "deliveryAddress.postalCode",
        },
      ],
    ],
    [
      "an item that the ERP does not know, and a line without an item",
      {
        lines: [
          erpLine(1, { itemNumber: "404", productGroup: "WINE" }),
          erpLine(2, { itemNumber: null }),
        ],
      },
      [
        { code: "product.missing", key: "", path: "lines[1].itemNumber" },
        { code: "product.missing", key: "404", value: "404", path: "lines[0].itemNumber" },
      ],
    ],
    [
      "a product without a price, which the ERP writes as 0",
      { lines: [erpLine(1, { unitPrice: "0" }), erpLine(2, { unitPrice: null })] },
      [
        {
          kind: "DATA",
          code: "price.missing",
          key: "1000",
          value: "0",
          path: "lines[0].unitPrice",
          occurrences: 2,
        },
      ],
    ],
    [
      "a quantity of 0",
      { lines: [erpLine(1), erpLine(2, { quantity: "0" })] },
      [{ kind: "DATA", code: "quantity.invalid", key: "", value: "0", path: "lines[1].quantity" }],
    ],
  ])("is an issue with code, key and path: %s", (_what, changes, expected) =>
    rolledBack(async (client) => {
      await importErpResponse(client, {
        orders: [erpOrder("1", changes)],
        customers,
        unknownItems: ["404"],
      });
      const found = await issues(client);
      expect(found).toMatchObject(expected);
      expect(found).toHaveLength(expected.length);
      expect(await flags(client)).toEqual({
        mapping: found.some((issue) => issue.kind === "MAPPING"),
        data: found.some((issue) => issue.kind === "DATA"),
      });
    }),
  );

  test.each<[string, Partial<ErpOrder>]>([
    [
      "codes that the ERP leaves blank",
      { paymentMethodCode: null, shipmentMethodCode: null, currencyCode: null },
    ],
    [
      "comments and returned goods",
      {
        lines: [
          erpLine(1, {
            type: "COMMENT",
            productGroup: "WINE",
            itemNumber: null,
            quantity: "0",
            unitPrice: "0",
            vatCode: null,
            locationCode: null,
          }),
          erpLine(2, { quantity: "-2" }),
        ],
      },
    ],
  ])("is no issue: %s", (_what, changes) =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [erpOrder("1", changes)], customers });
      expect(await issues(client)).toEqual([]);
      expect(await flags(client)).toEqual({ mapping: false, data: false });
    }),
  );

  test("is no missing address for orders picked up by the customer", () =>
    rolledBack(async (client) => {
      await client.query(
        `insert into erp_mapping_targets (code, value, title) values ('shipping_method.unmapped', 'PICKUP', 'Fetched') on conflict do nothing;
         insert into erp_mapping_rules (code, key, target) values ('shipping_method.unmapped', 'FETCH', 'PICKUP')`,
      );
      await importErpResponse(client, {
        orders: [
          erpOrder("1", { shipmentMethodCode: "FETCH", deliveryAddress: without("line1", "city") }),
        ],
        customers,
      });
      expect(await issues(client)).toEqual([]);
    }));
});

describe("an issue", () => {
  const gap = erpOrder("1", { lines: [erpLine(1, { productGroup: "GLASS" })] });
  const rule =
    "insert into erp_mapping_rules (code, key, target) values ('line_kind.unmapped', 'GLASS', 'PRODUCT')";

  test("of a mapping resolves at the next import after a rule is added, also without a new version", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [gap], customers });
      await client.query(rule);
      expect(await importErpResponse(client, { orders: [gap] })).toMatchObject({ updated: 1 });
      expect(await issues(client)).toEqual([]);
      expect(await flags(client)).toEqual({ mapping: false, data: false });
      const { rows } = await client.query("select kind from order_lines");
      expect(rows).toEqual([{ kind: "PRODUCT" }]);
      expect(await importErpResponse(client, { orders: [gap] })).toMatchObject({ unchanged: 1 });
    }));

  test("of a mapping resolves with a rule that ignores the value", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [gap], customers });
      await client.query(
        "insert into erp_mapping_rules (code, key, is_ignored) values ('line_kind.unmapped', 'GLASS', true)",
      );
      await importErpResponse(client, { orders: [gap] });
      expect(await issues(client)).toEqual([]);
      const { rows } = await client.query("select kind from order_lines");
      expect(rows).toEqual([{ kind: null }]);
    }));

  test("of data resolves when the ERP delivers the value", () =>
    rolledBack(async (client) => {
      const version = (revision: string, unitPrice: string) =>
        erpOrder("1", { revision, lines: [erpLine(1, { unitPrice })] });
      await importErpResponse(client, { orders: [version("1", "0")], customers });
      expect(await flags(client)).toEqual({ mapping: false, data: true });
      await importErpResponse(client, { orders: [version("2", "90")] });
      expect(await flags(client)).toEqual({ mapping: false, data: false });
      expect((await times(client))[0]?.resolved_at).toEqual(expect.any(Date));
    }));

  test("keeps both times of an unchanged order, and always keeps the first time", () =>
    rolledBack(async (client) => {
      await importErpResponse(client, { orders: [gap], customers });
      const [first] = await times(client);
      await importErpResponse(client, { orders: [gap] });
      expect(await times(client)).toEqual([first]);
      await importErpResponse(client, { orders: [{ ...gap, revision: "2" }] });
      const [again] = await times(client);
      expect(again).toMatchObject({ first_seen_at: first!.first_seen_at, resolved_at: null });
      expect(again!.last_seen_at!.getTime()).toBeGreaterThan(first!.last_seen_at!.getTime());
      await importErpResponse(client, { orders: [{ ...gap, revision: "3", lines: [erpLine(1)] }] });
      const [gone] = await times(client);
      expect(gone!.resolved_at).not.toBeNull();
      await importErpResponse(client, { orders: [{ ...gap, revision: "4" }] });
      expect(await times(client)).toMatchObject([
        { first_seen_at: first!.first_seen_at, resolved_at: null },
      ]);
    }));

  test("of a removed order follows the rules, and resolves when only the ERP could provide the value", () =>
    rolledBack(async (client) => {
      const order = (number: string) =>
        erpOrder(number, {
          customerNumber: "C9",
          paymentMethodCode: "CASH",
          lines: [erpLine(1, { productGroup: "GLASS" })],
        });
      await importErpResponse(client, { orders: [order("1"), order("2"), order("3")] });
      await client.query(rule);
      expect(
        await importErpResponse(client, { invoiced: ["1"], missing: ["2", "404"] }),
      ).toMatchObject({
        updated: 2,
        missing: 3,
      });
      const { rows } = await client.query(
        `select o.erp_order_number as number, o.status, l.kind, array(
           select i.code from order_import_issues i where i.order_id = o.id and i.resolved_at is null order by 1) as open
         from orders o join order_lines l on l.order_id = o.id order by 1`,
      );
      const left = "payment_method.unmapped";
      expect(rows).toEqual([
        { number: "1", status: "INVOICED", kind: "PRODUCT", open: [left] },
        { number: "2", status: "CANCELLED", kind: "PRODUCT", open: [left] },
        {
          number: "3",
          status: "OPEN",
          kind: null,
          open: ["customer.missing", "line_kind.unmapped", left],
        },
      ]);
      expect(await importErpResponse(client, { invoiced: ["1"], missing: ["2"] })).toMatchObject({
        updated: 0,
      });
    }));
});
