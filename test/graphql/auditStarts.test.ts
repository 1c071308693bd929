import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let staff: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  staff = await service.login(["erpsync.read", "erpsync.run", "audit.read"]);
});
afterAll(() => service.stop());
afterEach(async () => {
  await sql("delete from erp_sync_runs; delete from graphile_worker._private_jobs");
});

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await service.database.pool.query<T>(text, values)).rows;

async function mutate(text: string, { token } = staff): Promise<Answer> {
  const answer = await service.ask(`mutation { ${text} }`, { token });
  expect(answer.errors).toBeUndefined();
  return answer;
}

/** The audited writes of one request. */
const eventsOf = ({ headers }: Answer) =>
  sql<Record<string, unknown>>(
    `select actor_user_id as actor, operation, entity_type as type, entity_id as id, before, after, metadata
     from audit_log where correlation_id = $1 and operation <> 'READ' order by id`,
    [headers.get("x-correlation-id")],
  );

describe("an ERP import", () => {
  test.each([
    ["importErpOrders", "importErpOrders", { kind: "IMPORT" }],
    [
      "importErpOrder",
      'importErpOrder(erpOrderNumber: "107")',
      { kind: "ORDER", erpOrderNumber: "107" },
    ],
    ["recheckErpOrderImportIssues", "recheckErpOrderImportIssues", { kind: "RECHECK" }],
  ])("started by a user has an audit row: %s", async (field, call, after) => {
    const answer = await mutate(`${call} { id }`);
    expect(await eventsOf(answer)).toEqual([
      {
        actor: staff.userId,
        operation: "CREATE",
        type: "ErpSyncRun",
        id: answer.data[field].id,
        before: null,
        after: { ...after, status: "QUEUED" },
        metadata: { source: "api" },
      },
    ]);
  });

  test("started by a user has an audit row also when a waiting run is reused", async () => {
    const first = await mutate("importErpOrders { id }");
    const other = await service.login(["erpsync.run"]);
    const second = await mutate("importErpOrders { id reused }", other);
    expect(second.data.importErpOrders.reused).toBe(true);
    expect(await eventsOf(second)).toMatchObject([
      {
        actor: other.userId,
        operation: "UPDATE",
        type: "ErpSyncRun",
        id: first.data.importErpOrders.id,
        before: null,
        after: null,
        metadata: { source: "api", reused: true },
      },
    ]);
  });

  test("started by the schedule has no audit row", async () => {
    const before = await sql("select from audit_log where entity_type = 'ErpSyncRun'");
    await sql("select run_erp_schedule(5, 'UTC')");
    expect(await sql("select from erp_sync_runs")).not.toEqual([]);
    const after = await sql("select from audit_log where entity_type = 'ErpSyncRun'");
    expect(after).toHaveLength(before.length);
  });
});

describe("cancelling a run", () => {
  test("writes an audit row with both states, and stores the user with the run", async () => {
    const started = await mutate("importErpOrders { id }");
    const { id } = started.data.importErpOrders;
    const other = await service.login(["erpsync.read", "erpsync.run"]);
    const cancelled = await mutate(
      `cancelErpSyncRun(id: "${id}") { status cancelledByUserId }`,
      other,
    );
    expect(cancelled.data.cancelErpSyncRun).toEqual({
      status: "CANCELLED",
      cancelledByUserId: other.userId,
    });
    expect(await eventsOf(cancelled)).toEqual([
      {
        actor: other.userId,
        operation: "UPDATE",
        type: "ErpSyncRun",
        id,
        before: { status: "QUEUED" },
        after: { status: "CANCELLED" },
        metadata: { source: "api", kind: "IMPORT" },
      },
    ]);
  });
});
