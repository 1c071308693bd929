import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";
import { addIssue, fifteenOrders } from "../helpers/graphql/issueRows.ts";

let service: Service;
let token: string;

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

const flagged = async (query: string) => {
  const { orders } = await ask(
    "query ($query: String) { orders(query: $query) { nodes { erpOrderNumber } } }",
    { query },
  );
  return orders.nodes.map((node: { erpOrderNumber: string }) => node.erpOrderNumber);
};

describe("an order's import issues", () => {
  test("are shown while they are open, and always in its history", async () => {
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

  test("set its flags, and clear them when the last one is resolved or deleted", async () => {
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

  test("set its flags in concurrent transactions", async () => {
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
