import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import { addIssue, fifteenOrders } from "../helpers/graphql/issueRows.ts";

let service: Service;
let token: string;

const groups = `query ($kind: OrderImportIssueKind, $limit: Int) { erpOrderImportIssues(kind: $kind, limit: $limit) {
  code key title orderCount occurrences firstSeenAt lastSeenAt sampleMessage sampleValue sampleOrders { erpOrderNumber } } }`;
const health = "{ erpOrderHealth { ordersWithMappingIssues ordersWithDataIssues } }";

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["erpsync.read", "orders.read"]));
});
afterAll(async () => {
  await service.stop();
});
beforeEach(() => fifteenOrders(service.database.pool));

const sql = (text: string) => service.database.pool.query(text);
const issue = (
  numbers: string[],
  code: string,
  key: string,
  seen?: { day?: number; kind?: string },
) => addIssue(service.database.pool, numbers, code, key, seen);

async function ask(document: string, variables: Record<string, unknown> = {}) {
  const { data, errors } = await service.ask(document, { token, variables });
  expect(errors).toBeUndefined();
  return data;
}

describe("the groups of import issues", () => {
  const numbers = Array.from({ length: 12 }, (_, n) => String(n + 1).padStart(2, "0"));

  test("count the orders of a cause, and list the ten latest", async () => {
    await issue(numbers, "line_kind.unmapped", "GLASS");
    await issue(["13"], "line_kind.unmapped", "GLASS", { day: 5 });
    await issue(["01"], "price.missing", "", { kind: "DATA" });
    const { erpOrderImportIssues } = await ask(groups);
    expect(erpOrderImportIssues).toEqual([
      {
        code: "line_kind.unmapped",
        key: "GLASS",
        title: "Product group without a line kind: GLASS",
        orderCount: 13,
        occurrences: 26,
        firstSeenAt: "2026-02-01T00:00:00.000Z",
        lastSeenAt: "2026-02-05T00:00:00.000Z",
        sampleMessage: "No rule: 13",
        sampleValue: "raw GLASS",
        sampleOrders: ["13", ...numbers.slice(3).toReversed()].map((erpOrderNumber) => ({
          erpOrderNumber,
        })),
      },
    ]);
    const data = await ask(groups, { kind: "DATA" });
    expect(data.erpOrderImportIssues).toMatchObject([
      { code: "price.missing", key: "", title: "Price missing", orderCount: 1 },
    ]);
  });

  test("are sorted by size, then by last occurrence, then by code and key", async () => {
    await issue(["01"], "vat_code.unmapped", "B");
    await issue(["01"], "vat_code.unmapped", "A");
    await issue(["01"], "line_kind.unmapped", "Z");
    await issue(["01"], "warehouse.unmapped", "N", { day: 2 });
    await issue(["01", "02"], "currency.unmapped", "KR");
    const names = async (limit?: number | null) => {
      const { erpOrderImportIssues } = await ask(groups, { limit });
      return erpOrderImportIssues.map(({ code, key }: Record<string, string>) => `${code} ${key}`);
    };
    const all = [
      "currency.unmapped KR",
      "warehouse.unmapped N",
      "line_kind.unmapped Z",
      "vat_code.unmapped A",
      "vat_code.unmapped B",
    ];
    expect(await names()).toEqual(all);
    expect(await names(null)).toEqual(all);
    expect(await names(200)).toEqual(all);
    expect(await names(2)).toEqual(all.slice(0, 2));
  });

  test.each([0, -1, 201, 2147483647])("are never %d", async (limit) => {
    const { data, errors } = await service.ask(groups, { token, variables: { limit } });
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: "limit must be from 1 to 200",
        extensions: { code: "BAD_USER_INPUT", path: ["limit"] },
      },
    ]);
  });

  test("exclude resolved issues and superseded orders, like the health page", async () => {
    await issue(["01", "02", "03"], "line_kind.unmapped", "GLASS");
    await issue(["04"], "customer.missing", "77", { kind: "DATA" });
    await sql(
      "update order_import_issues i set resolved_at = now() from orders o where o.id = i.order_id and o.erp_order_number = '03'",
    );
    await sql(
      "update orders set superseded_by_order_id = (select id from orders where erp_order_number = '15') where erp_order_number = '02'",
    );
    await issue(["02"], "vat_code.unmapped", "EU");
    const seen = async () => {
      const { erpOrderImportIssues } = await ask(groups);
      const { erpOrderHealth } = await ask(health);
      return {
        samples: erpOrderImportIssues.map((group: { sampleOrders: unknown }) => group.sampleOrders),
        ...erpOrderHealth,
      };
    };
    expect(await seen()).toEqual({
      samples: [[{ erpOrderNumber: "01" }]],
      ordersWithMappingIssues: 1,
      ordersWithDataIssues: 1,
    });
    await sql(
      "update orders set superseded_by_order_id = null, placed_at = '2027-01-01Z' where erp_order_number = '02'",
    );
    expect(await seen()).toEqual({
      samples: [[{ erpOrderNumber: "02" }, { erpOrderNumber: "01" }], [{ erpOrderNumber: "02" }]],
      ordersWithMappingIssues: 2,
      ordersWithDataIssues: 1,
    });
  });

  test("are empty, and the health page is ok, without issues", async () => {
    expect(await ask(groups)).toEqual({ erpOrderImportIssues: [] });
    expect(await ask(health)).toEqual({
      erpOrderHealth: { ordersWithMappingIssues: 0, ordersWithDataIssues: 0 },
    });
  });
});

describe("a caller with `erpsync.read`", () => {
  const whole = `id erpOrderNumber placedAt status customerName email phone deliveryAddressLine1 totalAmount note createdAt
    hasImportMappingIssue customer { name } lines { id } supersededBy { id }`;
  const sample = `{ erpOrderImportIssues { sampleOrders { ${whole} importIssues { key } } } ${health.slice(1)}`;

  test("sees the identifying fields of sample orders and their issues", async () => {
    await issue(["01"], "line_kind.unmapped", "GLASS");
    await sql(
      `with c as (insert into customers (erp_customer_number, name) values ('77', 'Vinbar') returning id)
       update orders set customer_name = 'Ann', email = 'ann@example.com', phone = '1', delivery_address_line1 = 'Road 1', total_amount = 5,
         note = 'Ring', customer_id = (select id from c)`,
    );
    const caller = await service.login(["erpsync.read", "customers.read"]);
    const scoped = await insertApiToken(service.database, caller.userId, ["erpsync.read"]);
    for (const who of [caller, scoped]) {
      const { data } = await service.ask(sample, who);
      expect(data).toEqual({
        erpOrderImportIssues: [
          {
            sampleOrders: [
              {
                id: expect.any(String),
                erpOrderNumber: "01",
                placedAt: "2026-01-02T00:00:00.000Z",
                status: "OPEN",
                ...{ customerName: null, email: null, phone: null, deliveryAddressLine1: null },
                ...{ totalAmount: null, note: null, createdAt: null, hasImportMappingIssue: null },
                ...{ customer: null, lines: [], supersededBy: null },
                importIssues: [{ key: "GLASS" }],
              },
            ],
          },
        ],
        erpOrderHealth: { ordersWithMappingIssues: 1, ordersWithDataIssues: 0 },
      });
    }
  });

  test("sees complete sample orders with `orders.read`", async () => {
    await issue(["01"], "line_kind.unmapped", "GLASS");
    await sql("update orders set customer_name = 'Ann', total_amount = 5");
    const { erpOrderImportIssues } = await ask(sample);
    expect(erpOrderImportIssues[0].sampleOrders).toMatchObject([
      { customerName: "Ann", totalAmount: "5.00", hasImportMappingIssue: true },
    ]);
  });

  test("sees no order in root fields", async () => {
    await issue(["01"], "line_kind.unmapped", "GLASS");
    const caller = await service.login(["erpsync.read"]);
    const { errors } = await service.ask("{ orders { nodes { id } } }", caller);
    expect(errors?.[0]?.message).toBe("Missing required permission: orders.read");
  });

  test.each(["erpOrderImportIssues { code }", "erpOrderHealth { ordersWithDataIssues }"])(
    "needs `erpsync.read` for %s",
    async (field) => {
      const caller = await service.login(["orders.read"]);
      const { data, errors } = await service.ask(`{ ${field} }`, caller);
      expect(data).toBeNull();
      expect(errors).toMatchObject([
        {
          message: "Missing required permission: erpsync.read",
          extensions: { code: "FORBIDDEN", requiredPermission: "erpsync.read" },
        },
      ]);
    },
  );
});
