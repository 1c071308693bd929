import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { waitFor, waitForOutput } from "../helpers/waitFor.ts";
import { delayJobs } from "../helpers/workers/delayJobs.ts";
import type { Gate } from "../helpers/workers/gate.ts";
import { startGate } from "../helpers/workers/gate.ts";
import type { QueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { tenant, createQueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { endWorkers, launch, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const script = fileURLToPath(new URL("../../src/worker.ts", import.meta.url));
let db: QueueDatabase;
let gate: Gate;

beforeAll(async () => {
  db = await createQueueDatabase();
  // Tests expect that no job is locked at their end.
  await delayJobs((sql) => db.query(sql), ":schedule$");
});
afterAll(() => db?.drop());
beforeEach(async () => {
  gate = await startGate();
  // PostgreSQL may still execute the last statement of a killed worker, such as a heartbeat.
  await waitFor("the connections of killed workers to end", async () => {
    const { rows } = await db.query(
      "select from pg_stat_activity where datname = current_database() and application_name like 'office%'",
    );
    return rows.length === 0;
  });
  // Removes what killed workers of the previous test left.
  await db.query(`truncate ${tenant}.test_effects; delete from graphile_worker._private_jobs`);
  await db.query("delete from office_jobs.workers");
});
afterEach(async () => {
  await endWorkers();
  await gate.close();
});

const visits = (count: number) =>
  waitFor(`${count} visits at the gate`, () => gate.visits.length >= count);
const takenBy = async () => {
  const { rows } = await db.query<{ pid: number }>(`select pid from ${tenant}.test_effects`);
  return rows.map((row) => row.pid);
};
const nothingLocked = async () => {
  const { rows } = await db.query(
    `select id from graphile_worker._private_jobs where locked_by is not null
      union all select id from graphile_worker._private_job_queues where locked_by is not null`,
  );
  expect(rows).toEqual([]);
};

describe("when a worker dies", () => {
  test.each([{ inside: false }, { inside: true }])(
    "another worker does its job once (killed inside the transaction: $inside)",
    async ({ inside }) => {
      const first = await startWorkerProcess(db.url);
      const id = await db.enqueue("test_gate", { name: "once", gate: gate.url, inside });
      await visits(1);
      const second = await startWorkerProcess(db.url);
      first.signal("SIGKILL");
      await visits(2);
      gate.open();
      await db.waitUntilGone(id);
      expect(await takenBy()).toEqual([second.pid]);
      await waitForOutput(second, "job released: its worker died");
    },
  );
});

test("a job that is enqueued again while it runs is retried", async () => {
  const first = await startWorkerProcess(db.url, { WORKER_CONCURRENCY: "1" });
  const id = await db.enqueue("test_gate", { name: "once", gate: gate.url }, { key: "k" });
  await visits(1);
  const again = await db.enqueue("test_note", { name: "again" }, { key: "k" });
  first.signal("SIGKILL");
  const second = await startWorkerProcess(db.url);
  await visits(2);
  gate.open();
  await Promise.all([db.waitUntilGone(id), db.waitUntilGone(again)]);
  await db.expectEffects(["once", "again"]);
  expect(second.output()).not.toContain("its workers died repeatedly");
});

test("a job locked for a worker that did not see it start is requeued, and a slow one is not", async () => {
  const worker = await startWorkerProcess(db.url);
  const long = await db.enqueue("test_gate", { name: "long", gate: gate.url });
  await visits(1);
  // In one transaction, as when the database fails before it can report the job to the worker.
  await db.query(`
    select office_jobs.add('test_note', '{"tenant": "${tenant}", "input": {"name": "unheard"}}', 'unheard', queue_name => 'unheard');
    update graphile_worker._private_job_queues q set locked_by = w.id, locked_at = now()
      from office_jobs.workers w where q.queue_name = 'unheard';
    update graphile_worker._private_jobs j set locked_by = w.id, locked_at = now(), attempts = 1
      from office_jobs.workers w where j.key = 'unheard'`);
  const { rows } = await db.query<{ id: string }>(
    "select id from graphile_worker._private_jobs where key = 'unheard' and locked_by is not null",
  );
  const unheard = rows[0]!.id;
  await db.waitUntilGone(unheard);
  await waitForOutput(worker, "job requeued: its start never reached this worker");
  expect(gate.visits).toHaveLength(1);
  gate.open();
  await db.waitUntilGone(long);
  await db.expectEffects(["long", "unheard"]);
  await nothingLocked();
});

describe("when a worker receives a stop signal", () => {
  test("it finishes running jobs, takes no new ones and leaves no locks", async () => {
    // With one job at a time, no query for jobs can be on its way while the job runs.
    const worker = await startWorkerProcess(db.url, { WORKER_CONCURRENCY: "1" });
    const running = await db.enqueue("test_gate", { name: "running", gate: gate.url });
    await visits(1);
    worker.signal("SIGTERM");
    await waitFor("it to stop", () => worker.output().includes("worker stopping"));
    const waiting = await db.enqueue("test_note", { name: "waiting" });
    gate.open();
    expect(await worker.exited).toBe(0);
    expect(await takenBy()).toEqual([worker.pid]);
    expect(await db.job(running)).toBeUndefined();
    expect(await db.job(waiting)).toMatchObject({ attempts: 0, locked_by: null });
    await nothingLocked();
    const { rows } = await db.query("select id from office_jobs.workers");
    expect(rows).toEqual([]);
  });

  test.each([{ heeds: true }, { heeds: false }])(
    "a job that takes too long is requeued without consuming an attempt (obeys the signal: $heeds)",
    async ({ heeds }) => {
      const first = await startWorkerProcess(db.url, { SHUTDOWN_TIMEOUT_SECONDS: "1" });
      const id = await db.enqueue("test_gate", { name: "long", gate: gate.url, heeds });
      await visits(1);
      first.signal("SIGTERM");
      expect(await first.exited).toBe(0);
      expect(await db.job(id)).toMatchObject({ attempts: 0, locked_by: null, last_error: null });
      const second = await startWorkerProcess(db.url);
      gate.open();
      await db.waitUntilGone(id);
      expect(await takenBy()).toEqual([second.pid]);
    },
  );
});

describe("when a worker is paused", () => {
  test.each([{ inside: false }, { inside: true }])(
    "another one does its job, and the resumed worker changes nothing and exits (paused inside the transaction: $inside)",
    async ({ inside }) => {
      const frozen = await startWorkerProcess(db.url);
      const id = await db.enqueue("test_gate", { name: "once", gate: gate.url, inside });
      await visits(1);
      const other = await startWorkerProcess(db.url);
      frozen.signal("SIGSTOP");
      await visits(2);
      gate.open();
      await db.waitUntilGone(id);
      frozen.signal("SIGCONT");
      // A supervisor would restart it.
      expect(await frozen.exited).toBe(1);
      expect(await takenBy()).toEqual([other.pid]);
      expect(frozen.output()).toContain("declared dead");
      await nothingLocked();
    },
  );

  test("and is the only one, it continues after it resumes", async () => {
    const worker = await startWorkerProcess(db.url);
    const id = await db.enqueue("test_gate", { name: "once", gate: gate.url });
    await visits(1);
    worker.signal("SIGSTOP");
    await waitFor("a long silence", async () => {
      const { rows } = await db.query(
        "select from office_jobs.workers where seen_at < now() - silence * 1.2",
      );
      return rows.length === 1;
    });
    worker.signal("SIGCONT");
    gate.open();
    await db.waitUntilGone(id);
    expect(await takenBy()).toEqual([worker.pid]);
    expect(gate.visits).toEqual(["once"]);
  });
});

describe("when the database closes its connections", () => {
  test("a worker recovers or exits for its supervisor, and jobs run once", async () => {
    let worker = await startWorkerProcess(db.url);
    let exitCode: number | null | undefined;
    void worker.exited.then((code) => (exitCode = code));
    const running = await db.enqueue("test_gate", { name: "running", gate: gate.url });
    await visits(1);
    await db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'office_worker' and datname = current_database()",
    );
    const later = await db.enqueue("test_note", { name: "later" });
    gate.open();
    await waitFor("the jobs to be done, or the worker to exit", async () => {
      if (exitCode !== undefined) return true;
      return !(await db.job(running)) && !(await db.job(later));
    });
    if (exitCode !== undefined) {
      expect(exitCode).toBe(1);
      worker = await startWorkerProcess(db.url);
    }
    await db.expectEffects(["running", "later"]);
    worker.signal("SIGTERM");
    expect(await worker.exited).toBe(0);
    await nothingLocked();
  });
});

describe("when the queue can never take jobs", () => {
  test("the worker exits for its supervisor", async () => {
    // The queue's first task lookup fails, and it never retries.
    await db.query("alter table graphile_worker._private_tasks rename to away");
    const stuck = await startWorkerProcess(
      db.url,
      {},
      { constants: { worker: { heartbeatMs: 200 } } },
    );
    await waitFor("the failure", () => stuck.output().includes("heartbeat failed"));
    await db.query("alter table graphile_worker.away rename to _private_tasks");
    const id = await db.enqueue("test_note", { name: "after all" });
    expect(await stuck.exited).toBe(1);
    expect(stuck.output()).toContain("the database responds, but the queue takes no jobs");
    await startWorkerProcess(db.url);
    await db.waitUntilGone(id);
  });
});

describe("the worker script", () => {
  test("runs the service's tasks and stops cleanly", async () => {
    const worker = launch([script], { DATABASE_URL: db.url });
    await waitFor("the worker to take jobs", () => worker.output().includes("worker started"));
    expect(worker.output()).not.toContain("test_note");
    worker.signal("SIGTERM");
    expect(await worker.exited).toBe(0);
  });

  test("reports invalid settings and exits with 1", async () => {
    const worker = launch([script], { WORKER_CONCURRENCY: "many" });
    expect(await worker.exited).toBe(1);
    expect(worker.output()).toContain('WORKER_CONCURRENCY must be a whole number, not "many"');
  });

  test("reports a missing database and exits with 1", async () => {
    const worker = launch([script], {});
    expect(await worker.exited).toBe(1);
    expect(worker.output()).toContain("Set DATABASE_WORKER_URL or DATABASE_URL");
  });

  test("exits with 1 when the database does not respond, without printing the password", async () => {
    const worker = launch([script], {
      DATABASE_URL: "postgres://office:hunter2@127.0.0.1:1/office",
    });
    expect(await worker.exited).toBe(1);
    expect(worker.output()).toContain("ECONNREFUSED");
    expect(worker.output()).not.toContain("hunter2");
  });

  test("logs in as the worker role where that login exists", async () => {
    await db.query("alter role office_worker login password 'for-tests'");
    const url = new URL(db.url);
    url.username = "office_worker";
    url.password = "for-tests";
    const worker = await startWorkerProcess(url.href);
    await db.waitUntilGone(await db.enqueue("test_note", { name: "own login" }));
    await db.expectEffects(["own login"]);
    worker.signal("SIGTERM");
    expect(await worker.exited).toBe(0);
    await db.query("alter role office_worker nologin password null");
  });
});
