import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type AskOptions, type Service, startService } from "../helpers/service.ts";

let service: Service;
let auditor: { token: string; userId: string };

const read = `query ($input: AuditLogQueryInput) { auditLogs(input: $input) {
  total items { entityType before after } } }`;

beforeAll(async () => {
  service = await startService();
  auditor = await service.login(["audit.read", "campaigns.create"]);
});
afterAll(() => service.stop());

const ask = (input: Record<string, unknown>, options: AskOptions = {}) =>
  service.ask(read, { token: auditor.token, variables: { input }, ...options });

/** The results of the SQL-JSON path and of Grafast. */
const ways = [
  ["SQL", read],
  ["Grafast", read.replace("total", "total totalIsExact")],
] as const;

describe("an entity type", () => {
  test.each(ways)("that is unknown is rejected with the known ones: %s", async (_way, query) => {
    const answer = await service.ask(query, {
      token: auditor.token,
      variables: { input: { entityType: "Costumer" } },
    });
    expect(answer.errors).toHaveLength(1);
    const [error] = answer.errors ?? [];
    expect(error?.extensions).toMatchObject({
      code: "BAD_USER_INPUT",
      path: ["input", "entityType"],
    });
    expect(error?.message).toMatch(
      /^entityType: there is no `Costumer` \(did you mean `Customer`\?\); it must be one of .*AiApproval, .*Campaign, .*ErpSyncRun, .*SearchKey, .*User/,
    );
  });

  test("that differs only in case is rejected with the right one", async () => {
    const { errors } = await ask({ entityType: "apitoken" });
    expect(errors?.[0]?.message).toContain("did you mean `ApiToken`?");
  });

  test.each(["", "x".repeat(100_000), "\u0001"])("that is no name is rejected", async (name) => {
    const { errors } = await ask({ entityType: name });
    expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
    expect(errors?.[0]?.message.length).toBeLessThan(1_200);
  });

  test.each(["Order", "SearchKey", "Job", "AuditLog", "AiToolCall"])(
    "without records is accepted: %s",
    async (entityType) => {
      const { data, errors } = await ask({ entityType });
      expect(errors).toBeUndefined();
      expect(data.auditLogs.total).toBeGreaterThanOrEqual(0);
    },
  );

  test("of old rows only is accepted", async () => {
    await service.database.pool.query(
      "insert into audit_log (operation, entity_type) values ('CREATE', 'Bygone')",
    );
    const { data } = await ask({ entityType: "Bygone" });
    expect(data.auditLogs.total).toBe(1);
  });
});

describe("times in `before` and `after`", () => {
  test("have the format of the API", async () => {
    const created = await service.ask(
      `mutation { createCampaign(input: { title: "Moments", price: "1", medium: EMAIL, authorUserId: "${auditor.userId}",
         scheduledAt: "2026-01-31T13:34:56.789123+01:00" }) { id scheduledAt createdAt } }`,
      { token: auditor.token },
    );
    expect(created.errors).toBeUndefined();
    const { id, ...moments } = created.data.createCampaign;
    expect(moments.scheduledAt).toBe("2026-01-31T12:34:56.789Z");
    const { data } = await ask({ entityType: "Campaign", entityId: id });
    expect(data.auditLogs.items[0].after).toMatchObject(moments);
  });

  test("of older rows have it too, in any time zone", async () => {
    const { pool } = service.database;
    await pool.query(
      `insert into audit_log (operation, entity_type, entity_id, before, after) values
        ('UPDATE', 'Campaign', 'old', '{"scheduledAt": "2025-06-01T14:00:00.5+02:00", "note": "2025-06-01T14:00:00+02:00"}',
         '{"scheduledAt": "infinity", "note": null}')`,
    );
    const { data } = await ask({ entityType: "Campaign", entityId: "old" });
    expect(data.auditLogs.items[0]).toMatchObject({
      before: { scheduledAt: "2025-06-01T12:00:00.500Z", note: "2025-06-01T14:00:00+02:00" },
      after: { scheduledAt: "infinity", note: null },
    });
  });

  test("are not changed in stored rows, whose seals still match", async () => {
    const { pool } = service.database;
    const stored = () =>
      pool.query("select before, after from audit_log where entity_id = 'old'").then((r) => r.rows);
    const before = await stored();
    await ask({ entityType: "Campaign", entityId: "old" });
    expect(await stored()).toEqual(before);
    expect(before[0]?.before.scheduledAt).toBe("2025-06-01T14:00:00.5+02:00");
  });
});
