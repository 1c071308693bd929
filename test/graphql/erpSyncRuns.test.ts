import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { erpOrder, importErpResponse } from "../helpers/erpRecords.ts";
import type { Answer, Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let service: Service;
let staff: { token: string; userId: string };

beforeAll(async () => {
  service = await startService();
  staff = await service.login(["erpsync.read", "erpsync.run"]);
});
afterAll(() => service.stop());
beforeEach(async () => {
  await sql(
    "delete from erp_sync_runs; delete from graphile_worker._private_jobs; delete from orders",
  );
});

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await service.database.pool.query<T>(text, values)).rows;
const ask = (query: string, who: { token: string } = staff) => service.ask(query, who);
const handle = "id status queuedAt reused orderCount";
const recheck = (who?: { token: string }) =>
  ask(`mutation { recheckErpOrderImportIssues { ${handle} } }`, who);
/** The queued jobs, except those that index orders in the search engine. */
const jobs = () =>
  sql<{ task: string; run: string }>(
    `select t.identifier as task, j.payload -> 'input' ->> 'runId' as run
     from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
     where t.identifier <> 'index_search' order by j.id`,
  );
const refusal = ({ errors }: Answer) =>
  errors?.[0] && [errors[0].extensions.code, errors[0].message];
/** A worker's first step of a run. */
const begin = (id: string) => sql("select * from begin_erp_run($1)", [id]);

describe("rechecking the orders with a mapping gap", () => {
  test("queues one job for concurrent requests and returns its handle to all of them", async () => {
    await importErpResponse(service.database.pool, {
      orders: ["1", "2"].map((n) => erpOrder(n, { paymentMethodCode: "NONE" })),
    });
    const answers = await Promise.all(Array.from({ length: 50 }, () => recheck()));
    const handles = answers.map(({ data }) => data.recheckErpOrderImportIssues);
    expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
    expect(handles.filter(({ reused }) => !reused)).toHaveLength(1);
    expect(handles[0]).toMatchObject({
      status: "QUEUED",
      orderCount: 2,
      queuedAt: handles[1].queuedAt,
    });
    expect(await jobs()).toEqual([{ task: "reimport_orders", run: handles[0].id }]);
  });

  test("is listed once for each requester, and cancelled for all of them", async () => {
    const colleague = await service.login(["erpsync.run"]);
    const mine = async (who?: { token: string }) =>
      (await ask("{ myJobs { nodes { kind subject state } } }", who)).data.myJobs.nodes;
    await sql("delete from jobs");
    const [first] = await Promise.all([
      recheck(),
      ...Array.from({ length: 9 }, () => recheck()),
      ...Array.from({ length: 10 }, () => recheck(colleague)),
    ]);
    const job = { kind: "reimport_orders", subject: "Orders with a mapping gap", state: "QUEUED" };
    expect(await mine()).toEqual([job]);
    expect(await mine(colleague)).toEqual([job]);
    const { id } = first.data.recheckErpOrderImportIssues;
    await ask(`mutation { cancelErpSyncRun(id: "${id}") { status } }`);
    expect(await mine()).toEqual([{ ...job, state: "CANCELLED" }]);
    expect(await mine(colleague)).toEqual([{ ...job, state: "CANCELLED" }]);
  });

  test("queues one more job while a worker runs the first", async () => {
    const first = (await recheck()).data.recheckErpOrderImportIssues;
    await begin(first.id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => recheck()));
    const ids = new Set(answers.map(({ data }) => data.recheckErpOrderImportIssues.id));
    expect(ids.size).toBe(1);
    expect(ids).not.toContain(first.id);
    expect(await jobs()).toHaveLength(2);
  });

  test("waits for a worker that starts the run concurrently, so that the run sees the caller's changes", async () => {
    const { id } = (await recheck()).data.recheckErpOrderImportIssues;
    const caller = await service.database.pool.connect();
    try {
      await caller.query("begin");
      await caller.query("select queue_erp_run('RECHECK')");
      const taking = begin(id);
      const first = await Promise.race([
        taking.then(() => "taken"),
        sql("select pg_sleep(0.2)").then(() => "waits"),
      ]);
      expect(first).toBe("waits");
      await caller.query("commit");
      expect(await taking).toHaveLength(1);
    } finally {
      caller.release();
    }
  });

  test("is not blocked by a failed run, which stores the reason", async () => {
    const first = (await recheck()).data.recheckErpOrderImportIssues;
    await begin(first.id);
    await sql(
      `update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'Its worker died 3 times' `,
    );
    const second = (await recheck()).data.recheckErpOrderImportIssues;
    expect(second).toMatchObject({ reused: false, status: "QUEUED" });
    const { data } = await ask(`{ erpSyncRun(id: "${first.id}") { status error finishedAt } }`);
    expect(data.erpSyncRun).toEqual({
      status: "FAILED",
      error: "Given up: Its worker died 3 times",
      finishedAt: expect.any(String),
    });
  });

  test("needs `erpsync.run`, which a read-only token does not have", async () => {
    const token = await insertApiToken(service.database, staff.userId, [
      "erpsync.read",
      "orders.read",
    ]);
    expect(refusal(await recheck(token))).toEqual([
      "FORBIDDEN",
      "Missing required permission: erpsync.run",
    ]);
    expect(await jobs()).toEqual([]);
  });
});

describe("other imports", () => {
  test("are started manually, for changes and for one order by its number", async () => {
    const { data } = await ask(
      `mutation { all: importErpOrders { ${handle} } again: importErpOrders { id reused }
         one: importErpOrder(erpOrderNumber: " 00107 ") { ${handle} } same: importErpOrder(erpOrderNumber: "00107") { id }
         other: importErpOrder(erpOrderNumber: "107") { id reused } }`,
    );
    expect(data.all).toMatchObject({ reused: false, orderCount: null });
    expect(data.again).toEqual({ id: data.all.id, reused: true });
    expect(data.one).toMatchObject({ reused: false, orderCount: 1 });
    expect(data.same.id).toBe(data.one.id);
    expect(data.other.reused).toBe(false);
    const listed = await ask(
      "{ erpSyncRuns(first: 10) { nodes { kind status erpOrderNumber ordersTotal requestedByUserId } } }",
    );
    const common = { status: "QUEUED", requestedByUserId: staff.userId };
    expect(listed.data.erpSyncRuns.nodes).toEqual([
      { ...common, kind: "ORDER", erpOrderNumber: "107", ordersTotal: 1 },
      { ...common, kind: "ORDER", erpOrderNumber: "00107", ordersTotal: 1 },
      { ...common, kind: "IMPORT", erpOrderNumber: null, ordersTotal: null },
    ]);
  });

  test("of one order are one run for concurrent requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        ask('mutation { importErpOrder(erpOrderNumber: "00107") { id reused } }'),
      ),
    );
    const handles = answers.map(({ data }) => data.importErpOrder);
    expect(new Set(handles.map(({ id }) => id)).size).toBe(1);
    expect(handles.filter(({ reused }) => !reused)).toHaveLength(1);
    expect(await jobs()).toEqual([{ task: "reimport_orders", run: handles[0].id }]);
  });

  test.each([
    [
      'importErpOrder(erpOrderNumber: " ") { id }',
      "BAD_USER_INPUT",
      "erpOrderNumber must be 1 to 50 characters",
    ],
    [
      'cancelErpSyncRun(id: "00000000-0000-7000-8000-000000000000") { id }',
      "NOT_FOUND",
      "There is no run of the import with this id",
    ],
  ])("are rejected: %s", async (field, code, message) => {
    expect(refusal(await ask(`mutation { ${field} }`))).toEqual([code, message]);
  });

  test("can be cancelled while they wait or run", async () => {
    const { id } = (await ask("mutation { importErpOrders { id } }")).data.importErpOrders;
    const cancel = () => ask(`mutation { cancelErpSyncRun(id: "${id}") { status finishedAt } }`);
    expect((await cancel()).data.cancelErpSyncRun).toEqual({
      status: "CANCELLED",
      finishedAt: expect.any(String),
    });
    expect(await begin(id)).toEqual([]);
    expect(refusal(await cancel())).toEqual(["CONFLICT", "The run has ended: it is CANCELLED"]);
  });
});

describe("the schedule", () => {
  const tick = (at: string, zone = "Europe/Copenhagen") =>
    sql("select run_erp_schedule(5, $1, $2)", [zone, at]);
  const nights = async () => {
    const rows = await sql<{ n: number }>(
      "select count(*)::integer as n from erp_sync_runs where kind = 'RECHECK'",
    );
    await sql("delete from erp_sync_runs");
    return rows[0]!.n;
  };
  beforeEach(() => sql("update erp_schedule set next_at = null, done_on = null"));

  test("imports at the configured interval unless an import waits or runs", async () => {
    const imports = async () =>
      (
        await sql<{ s: string }>(
          "select status as s from erp_sync_runs where kind = 'IMPORT' order by queued_at",
        )
      ).map(({ s }) => s);
    await tick("2026-03-10T10:02:00Z");
    expect(await imports()).toEqual(["QUEUED"]);
    await tick("2026-03-10T10:05:00Z");
    expect(await imports()).toEqual(["QUEUED"]);
    await sql("update erp_sync_runs set status = 'SUCCEEDED'");
    await tick("2026-03-10T10:09:00Z");
    expect(await imports()).toEqual(["SUCCEEDED"]);
    await tick("2026-03-10T10:10:00Z");
    expect(await imports()).toEqual(["SUCCEEDED", "QUEUED"]);
  });

  test.each([
    // Clocks go from 02:00 to 03:00 in the first night, and from 03:00 back to 02:00 in the second.
    ["an ordinary night", "2026-03-10", ["00:30", "01:29"], ["01:30", "01:31", "02:30"]],
    ["the night that has no 02:30", "2026-03-29", ["00:30", "01:29"], ["01:30", "01:31", "02:30"]],
    [
      "the night that has 02:30 twice",
      "2026-10-25",
      ["00:29", "01:29"],
      ["01:30", "01:31", "02:30"],
    ],
  ])("rechecks once, at 02:30 of the time zone, in %s", async (_night, day, before, after) => {
    const at = (time: string) => tick(`${day}T${time}:00Z`);
    await tick(new Date(Date.parse(`${day}T12:00:00Z`) - 86_400_000).toISOString());
    await nights();
    for (const time of before) await at(time);
    expect(await nights()).toBe(0);
    for (const time of after) await at(time);
    await at("23:59");
    expect(await nights()).toBe(1);
  });

  test("makes up missed nights with one recheck", async () => {
    await tick("2026-03-10T10:00:00Z");
    await nights();
    await tick("2026-03-14T00:10:00Z");
    await tick("2026-03-14T00:11:00Z");
    expect(await nights()).toBe(1);
    await tick("2026-03-14T01:30:00Z");
    expect(await nights()).toBe(1);
  });

  test("reuses a waiting recheck", async () => {
    await tick("2026-03-10T10:00:00Z");
    const { id } = (await recheck()).data.recheckErpOrderImportIssues;
    await tick("2026-03-11T01:30:00Z");
    const rows = await sql("select id from erp_sync_runs where kind = 'RECHECK'");
    expect(rows).toEqual([{ id }]);
  });

  test("reports its next import and recheck", async () => {
    await tick("2026-03-28T10:02:00Z");
    const { data } = await ask("{ syncStatus { nextImportAt nextRecheckAt } }");
    expect(data.syncStatus).toEqual({
      nextImportAt: "2026-03-28T10:05:00.000Z",
      nextRecheckAt: "2026-03-29T01:30:00.000Z",
    });
  });
});

describe("the state of the import", () => {
  const status = `{ syncStatus { lastRun { kind status error } lastSuccessAt cursor cursorAt lagSeconds failedRuns unreadableRecords erpIsUp erpError erpSeenAt } }`;

  test("contains the last run, the cursor, the lag, the failures and the state of the ERP", async () => {
    await sql(
      "update erp_cursors set cursor = null, cursor_at = null, caught_up_at = null, erp_is_up = null, erp_seen_at = null",
    );
    expect((await ask(status)).data.syncStatus).toEqual({
      lastRun: null,
      lastSuccessAt: null,
      cursor: null,
      cursorAt: null,
      lagSeconds: null,
      failedRuns: 0,
      unreadableRecords: 0,
      erpIsUp: null,
      erpError: null,
      erpSeenAt: null,
    });
    const { id } = (await ask("mutation { importErpOrders { id } }")).data.importErpOrders;
    await begin(id);
    await sql(
      "select import_page($1, 'orders', null, 'c1', '2026-03-01T10:00:00Z', true, $2, 'UTC')",
      [id, JSON.stringify({ orders: [erpOrder("1", { salesperson: "x".repeat(201) })] })],
    );
    await sql("select finish_erp_run($1)", [id]);
    expect((await ask(status)).data.syncStatus).toMatchObject({
      lastRun: { kind: "IMPORT", status: "SUCCEEDED", error: null },
      lastSuccessAt: expect.any(String),
      cursor: "c1",
      cursorAt: "2026-03-01T10:00:00.000Z",
      lagSeconds: expect.any(Number),
      failedRuns: 0,
      unreadableRecords: 1,
      erpIsUp: true,
      erpError: null,
    });
    const next = (await ask("mutation { importErpOrders { id } }")).data.importErpOrders;
    await begin(next.id);
    await sql("select fail_erp_run($1, 'The ERP does not answer', null, true)", [next.id]);
    expect((await ask(status)).data.syncStatus).toMatchObject({
      lastRun: { status: "FAILED", error: "The ERP does not answer" },
      failedRuns: 1,
      erpIsUp: false,
      erpError: "The ERP does not answer",
    });
    const { data } = await ask(
      "{ erpImportFailures { nodes { record erpOrderNumber message path } } }",
    );
    expect(data.erpImportFailures.nodes).toEqual([
      {
        record: "order 1",
        erpOrderNumber: "1",
        message: "salesperson must be 200 characters at most",
        path: "salesperson",
      },
    ]);
  });

  test("needs `erpsync.read`", async () => {
    const other = await service.login(["orders.read", "erpsync.run"]);
    for (const field of [
      "syncStatus { cursor }",
      "erpSyncRuns { nodes { id } }",
      "erpImportFailures { nodes { id } }",
    ])
      expect(refusal(await ask(`{ ${field} }`, other))).toEqual([
        "FORBIDDEN",
        "Missing required permission: erpsync.read",
      ]);
  });
});
