import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

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
/** Fifteen orders `01` to `15`, placed a day after each other. */
beforeEach(async () => {
  await service.database.pool.query(
    `delete from orders;
     insert into orders (erp_order_number, placed_at)
     select lpad(n::text, 2, '0'), timestamptz '2026-01-01Z' + make_interval(days => n) from generate_series(1, 15) n`,
  );
});

const sql = (text: string) => service.database.pool.query(text);

/** An issue for each of the orders, seen on the given day of February. */
const issue = (numbers: string[], code: string, key: string, { day = 1, kind = "MAPPING" } = {}) =>
  service.database.pool.query(
    `insert into order_import_issues (order_id, kind, code, key, message, value, path, occurrences, first_seen_at, last_seen_at)
     select id, $2, $3, $4, 'No rule: ' || erp_order_number, 'raw ' || $4, 'lines[0]', 2, seen, seen
     from orders, (values (timestamptz '2026-02-01Z' + make_interval(days => $5::integer - 1))) as s(seen)
     where erp_order_number = any ($1)`,
    [numbers, kind, code, key, day],
  );

async function ask(document: string, variables: Record<string, unknown> = {}) {
  const { data, errors } = await service.ask(document, { token, variables });
  expect(errors).toBeUndefined();
  return data;
}

const flagged = async (query: string) => {
  const { orders } = await ask(
    "query ($query: String) { orders(query: $query) { nodes { erpOrderNumber } } }",
    { query },
  );
  return orders.nodes.map((node: { erpOrderNumber: string }) => node.erpOrderNumber);
};

describe("an order's import issues", () => {
  test("are shown while they are open, and in its history for ever", async () => {
    await issue(["01"], "vat_code.unmapped", "EU");
    await issue(["01"], "price.missing", "", { kind: "DATA" });
    await issue(["01"], "line_kind.unmapped", "GLASS");
    await sql(
      "update order_import_issues set resolved_at = now() where code = 'vat_code.unmapped'",
    );
    const { orders } = await ask(
      `{ orders(query: "erpOrderNumber:01") { nodes { hasImportMappingIssue hasImportDataIssue
         importIssues { kind code key message value path occurrences firstSeenAt lastSeenAt resolvedAt }
         importIssueHistory { code } } } }`,
    );
    expect(orders.nodes[0]).toMatchObject({
      hasImportMappingIssue: true,
      hasImportDataIssue: true,
      importIssues: [
        {
          kind: "MAPPING",
          code: "line_kind.unmapped",
          key: "GLASS",
          message: "No rule: 01",
          value: "raw GLASS",
          path: "lines[0]",
          occurrences: 2,
          firstSeenAt: "2026-02-01T00:00:00.000Z",
          lastSeenAt: "2026-02-01T00:00:00.000Z",
          resolvedAt: null,
        },
        { kind: "DATA", code: "price.missing", key: "" },
      ],
      importIssueHistory: [
        { code: "line_kind.unmapped" },
        { code: "vat_code.unmapped" },
        { code: "price.missing" },
      ],
    });
  });

  test("raise its flags, and lower them when the last is resolved or gone", async () => {
    await issue(["01", "02"], "line_kind.unmapped", "GLASS");
    await issue(["02", "03"], "line_kind.unmapped", "BOX");
    await issue(["04"], "price.missing", "", { kind: "DATA" });
    expect(await flagged("hasImportMappingIssue:true")).toEqual(["03", "02", "01"]);
    expect(await flagged("hasImportDataIssue:true")).toEqual(["04"]);
    expect(await flagged("hasImportMappingIssue:false")).toHaveLength(12);
    await sql("update order_import_issues set resolved_at = now() where key = 'GLASS'");
    expect(await flagged("hasImportMappingIssue:true")).toEqual(["03", "02"]);
    await sql("update order_import_issues set resolved_at = null where key = 'GLASS'");
    expect(await flagged("hasImportMappingIssue:true")).toEqual(["03", "02", "01"]);
    await sql("delete from order_import_issues where key = 'BOX'");
    expect(await flagged("hasImportMappingIssue:true")).toEqual(["02", "01"]);
  });

  test("raise its flags also when two transactions change them at once", async () => {
    await issue(["01"], "line_kind.unmapped", "GLASS");
    const [one, other] = await Promise.all([
      service.database.pool.connect(),
      service.database.pool.connect(),
    ]);
    try {
      await one.query("begin; delete from order_import_issues where key = 'GLASS'");
      const waiting = other.query(
        `insert into order_import_issues (order_id, kind, code, key, message)
         select id, 'MAPPING', 'line_kind.unmapped', 'BOX', 'No rule' from orders where erp_order_number = '01'`,
      );
      await one.query("commit");
      await waiting;
    } finally {
      one.release();
      other.release();
    }
    expect(await flagged("hasImportMappingIssue:true")).toEqual(["01"]);
  });

  test("find the orders of one cause", async () => {
    await issue(["01", "02"], "line_kind.unmapped", "GLASS");
    await issue(["03"], "line_kind.unmapped", "BOX");
    expect(
      await flagged("importIssueHistory.code:line_kind.unmapped importIssueHistory.key:GLASS"),
    ).toEqual(["02", "01"]);
  });
});

describe("the groups of import issues", () => {
  const numbers = Array.from({ length: 12 }, (_, n) => String(n + 1).padStart(2, "0"));

  test("count the orders of a cause, and name the ten placed last", async () => {
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

  test("begin with the largest, then the one seen last, then by code and key", async () => {
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

  test("leave out resolved issues and superseded orders, as does the health", async () => {
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

  test("are empty, and the health is well, when there is nothing", async () => {
    expect(await ask(groups)).toEqual({ erpOrderImportIssues: [] });
    expect(await ask(health)).toEqual({
      erpOrderHealth: { ordersWithMappingIssues: 0, ordersWithDataIssues: 0 },
    });
  });
});

describe("who minds the import", () => {
  test("sees the orders with issues inside of the groups, and with `erpsync.read` alone in no list", async () => {
    await issue(["01"], "line_kind.unmapped", "GLASS");
    const caller = await service.login(["erpsync.read"]);
    const scoped = await insertApiToken(service.database, caller.userId, ["erpsync.read"]);
    for (const who of [caller, scoped]) {
      const { data } = await service.ask(
        `{ erpOrderImportIssues { sampleOrders { erpOrderNumber importIssues { key } lines { id } } } ${health.slice(1)}`,
        who,
      );
      expect(data).toEqual({
        erpOrderImportIssues: [
          { sampleOrders: [{ erpOrderNumber: "01", importIssues: [{ key: "GLASS" }], lines: [] }] },
        ],
        erpOrderHealth: { ordersWithMappingIssues: 1, ordersWithDataIssues: 0 },
      });
      const { errors } = await service.ask("{ orders { nodes { id } } }", who);
      expect(errors?.[0]?.message).toBe("Missing required permission: orders.read");
    }
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
