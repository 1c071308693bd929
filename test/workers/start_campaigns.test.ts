import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { waitFor } from "../helpers/waitFor.ts";
import type { QueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { tenant, createQueueDatabase } from "../helpers/workers/queueDatabase.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let db: QueueDatabase;

beforeAll(async () => {
  db = await createQueueDatabase();
  await db.query(
    `insert into ${tenant}.users (email, is_active) values ('author@example.com', true)`,
  );
});
afterAll(async () => {
  await db?.drop();
});
beforeEach(async () => {
  await db.query(`delete from ${tenant}.campaigns`);
});

/** Creates campaigns with different start times, `inMs` from now. */
const schedule = (count: number, inMs: number, status = "SCHEDULED", schema = tenant) =>
  db.query(
    `insert into ${schema}.campaigns (title, price, author_user_id, medium, scheduled_at, status)
     select 'Campaign ' || n, '1', u.id, 'EMAIL', clock_timestamp() + make_interval(secs => ($2 + n) / 1000.0), $3::text::${schema}.campaign_status
     from ${schema}.users u, generate_series(1, $1::integer) n`,
    [count, inMs, status],
  );

const states = async () => {
  const { rows } = await db.query<{ status: string; count: number }>(
    `select status, count(*)::integer as count from ${tenant}.campaigns group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
};

/** The audit rows of campaigns that became ACTIVE. */
const starts = async (schema = tenant) => {
  const { rows } = await db.query(
    `select entity_id, before, after, actor_user_id, metadata from ${schema}.audit_log
     where entity_type = 'Campaign' and operation = 'UPDATE' and after ->> 'status' = 'ACTIVE'`,
  );
  return rows;
};

describe("a scheduled campaign with two workers", () => {
  let workers: WorkerProcess[];
  beforeAll(async () => {
    workers = await Promise.all([startWorkerProcess(db.url), startWorkerProcess(db.url)]);
  });
  afterAll(() => endWorkers());

  test("starts once in concurrent runs, and the audit log names the job", async () => {
    await schedule(300, 200);
    expect(await states()).toEqual({ SCHEDULED: 300 });
    await waitFor("all to start", async () => (await states()).ACTIVE === 300);
    const { rows } = await db.query(
      `select count(*)::integer as early from ${tenant}.audit_log a join ${tenant}.campaigns c on c.id::text = a.entity_id
       where a.operation = 'UPDATE' and a.created_at < c.scheduled_at`,
    );
    expect(rows).toEqual([{ early: 0 }]);
    const audited = await starts();
    expect(audited).toHaveLength(300);
    expect(new Set(audited.map((row) => row.entity_id)).size).toBe(300);
    expect(audited[0]).toMatchObject({
      actor_user_id: null,
      before: { status: "SCHEDULED" },
      after: { status: "ACTIVE" },
      metadata: { source: "job" },
    });
    await waitFor("the line in the log", () =>
      workers.some((worker) => worker.output().includes("campaigns started")),
    );
  });

  test("starts when its time is already over, and after it was moved", async () => {
    await schedule(1, -60_000);
    await waitFor("it to start", async () => (await states()).ACTIVE === 1);
    await schedule(1, 3_600_000);
    await db.query(
      `update ${tenant}.campaigns set scheduled_at = now() - interval '1 s' where status = 'SCHEDULED'`,
    );
    await waitFor("the other to start", async () => (await states()).ACTIVE === 2);
  });

  test("starts in a test run's tenant, which has no schedule", async () => {
    const other = `${tenant}_e2e_start`;
    await db.makeTenant(other);
    await db.query(`insert into ${other}.users (email, is_active) values ('a@example.com', true)`);
    await schedule(2, 100, "SCHEDULED", other);
    await waitFor("both to start", async () => (await starts(other)).length === 2);
  });

  test("does not start early, and unscheduled campaigns do not start", async () => {
    await schedule(3, -1000, "DRAFT");
    await schedule(2, 3_600_000);
    const id = await db.enqueue("start_campaigns", {});
    await db.waitUntilGone(id);
    expect(await states()).toEqual({ DRAFT: 3, SCHEDULED: 2 });
    const { rows } = await db.query(
      `select count(*)::integer as jobs from graphile_worker._private_jobs j
       join ${tenant}.campaigns c on c.status = 'SCHEDULED' and date_trunc('milliseconds', c.scheduled_at) = date_trunc('milliseconds', j.run_at)`,
    );
    expect(rows).toEqual([{ jobs: 2 }]);
  });
});

describe("without a worker", () => {
  test("campaigns with the same start time share one job", async () => {
    const at = "2090-01-01T00:00:00Z";
    await schedule(50, 1000, "DRAFT");
    await db.query(`update ${tenant}.campaigns set scheduled_at = $1, status = 'SCHEDULED'`, [at]);
    await db.query(`update ${tenant}.campaigns set note = 'later' where scheduled_at = $1`, [at]);
    const { rows } = await db.query(
      "select count(*)::integer as jobs from graphile_worker._private_jobs where run_at = $1",
      [at],
    );
    expect(rows).toEqual([{ jobs: 1 }]);
  });

  test("a campaign locked by another transaction is started by the next call", async () => {
    await schedule(2, -1000);
    const start = async () => {
      const { rows } = await db.query<{ started: number }>(
        `select ${tenant}.start_due_campaigns() as started`,
      );
      return rows[0]?.started;
    };
    const colleague = new pg.Client({ connectionString: db.url });
    await colleague.connect();
    try {
      await colleague.query(
        `begin; update ${tenant}.campaigns set note = 'x' where title = 'Campaign 1'`,
      );
      expect(await start()).toBe(1);
      await colleague.query("commit");
    } finally {
      await colleague.end();
    }
    expect(await start()).toBe(1);
    expect(await start()).toBe(0);
    expect(await states()).toEqual({ ACTIVE: 2 });
  });
});
