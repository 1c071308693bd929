import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createDatabase } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { Gate } from "../helpers/workers/gate.ts";
import { startGate } from "../helpers/workers/gate.ts";
import type { JobRow, OwnJobs } from "../helpers/workers/ownJobs.ts";
import { createOwnJobs } from "../helpers/workers/ownJobs.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let database: TestDatabase;
let own: OwnJobs;

beforeAll(async () => {
  database = await createDatabase();
  own = await createOwnJobs(database);
  await database.pool.query(`
    create table test_effects (name text, pid integer, role text, source text, correlation_id text);
    grant insert on test_effects to office_worker`);
});
afterAll(() => database?.drop());
/** Waits for the connections, too: a statement that a killed worker has sent may take a job of the next test. */
const stopWorkers = async () => {
  await endWorkers();
  await waitFor("the connections of the workers to end", async () => {
    const { rowCount } = await database.pool.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'office_worker'",
    );
    return rowCount === 0;
  });
};
afterEach(stopWorkers);

const until = (what: string, id: string, check: (row: JobRow) => boolean) =>
  waitFor(what, async () => {
    const row = await own.record(id);
    return check(row) && row;
  });
const queued = async (id: string) => {
  const { rows } = await database.pool.query<{
    attempts: number;
    run_at: Date;
    locked_at: Date | null;
  }>("select attempts, run_at, locked_at from graphile_worker._private_jobs where id = $1", [id]);
  return rows[0];
};
const inQueue = (id: string) =>
  waitFor("the job to wait", async () => (await queued(id))?.locked_at === null);
const effects = async (name: string) =>
  (await database.pool.query("select from test_effects where name = $1", [name])).rowCount;

describe("the record of a job that a user started", () => {
  beforeEach(async () => {
    await startWorkerProcess(database.url);
  });

  test("shows the waiting state, the attempts and the success", async () => {
    const id = await own.start("test_end", { how: "problem", message: "The cellar is locked" });
    const tried = await until("a failed attempt", id, (row) => row.error !== null);
    expect(tried).toMatchObject({
      state: "QUEUED",
      attempts: 1,
      error: "The cellar is locked",
      subject: "A test",
      finished_at: null,
    });
    expect(tried.started_at).toBeInstanceOf(Date);
    await inQueue(id);
    // The record agrees with the queue except for the time between the two statements.
    const runAt = (await queued(id))?.run_at.getTime() ?? 0;
    expect(Math.abs(runAt - (tried.next_attempt_at?.getTime() ?? 0))).toBeLessThan(2_000);

    await own.runNow(id, { how: "finish", message: "unlocked" });
    const done = await until("the end", id, (row) => row.finished_at !== null);
    expect(done).toMatchObject({
      state: "SUCCEEDED",
      attempts: 2,
      error: null,
      next_attempt_at: null,
    });
    expect(await effects("unlocked")).toBe(1);
  });

  test("shows FAILED with the reason when a task fails, in the transaction of its effects", async () => {
    const id = await own.start("test_end", { how: "giveUp", message: "There is no such wine" });
    const row = await until("the end", id, ({ finished_at }) => finished_at !== null);
    expect(row).toMatchObject({ state: "FAILED", attempts: 1, error: "There is no such wine" });
    expect(await effects("There is no such wine")).toBe(1);
    expect(await queued(id)).toBeUndefined();
  });

  test("shows FAILED after the last attempt, without the message of an internal error", async () => {
    const id = await own.start(
      "test_end",
      { how: "error", message: 'column "hunter2" of relation "secrets" does not exist' },
      { maxAttempts: 2 },
    );
    const first = await until("a failed attempt", id, (row) => row.error !== null);
    expect(first.error).toBe("The job failed unexpectedly; see the log for correlation id test");
    await inQueue(id);
    await own.runNow(id);
    const last = await until("the end", id, (row) => row.finished_at !== null);
    expect(last).toMatchObject({ state: "FAILED", attempts: 2 });
    expect(last.error).toBe(`${first.error} (given up after 2 attempts)`);
  });

  test("a postponed job waits the given time without consuming an attempt", async () => {
    const id = await own.start("test_end", {
      how: "postpone",
      message: "Closed until noon",
      notBeforeMs: 3_600_000,
    });
    const row = await until("the postponement", id, ({ error }) => error !== null);
    expect(row).toMatchObject({ state: "QUEUED", attempts: 0, error: "Closed until noon" });
    const job = await queued(id);
    expect(job?.attempts).toBe(0);
    expect((job?.run_at.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
  });

  test("a problem with a minimum delay is not retried earlier", async () => {
    const id = await own.start("test_end", {
      how: "problem",
      message: "Too many",
      notBeforeMs: 600_000,
    });
    await until("the failed attempt", id, ({ error }) => error !== null);
    await inQueue(id);
    expect(((await queued(id))?.run_at.getTime() ?? 0) - Date.now()).toBeGreaterThan(590_000);
  });
});

describe("when a worker dies", () => {
  let gate: Gate;
  beforeEach(async () => {
    gate = await startGate();
  });
  afterEach(() => gate.close());

  test("the record announces a retry, and the failure after three deaths in a row", async () => {
    const id = await own.start("test_gate", { name: "deadly", gate: gate.url });
    for (let death = 1; death <= 3; death++) {
      const worker = await startWorkerProcess(database.url);
      await waitFor(`visit ${death}`, () => gate.visits.length === death);
      expect(await own.record(id)).toMatchObject({ state: "RUNNING", attempts: death });
      worker.signal("SIGKILL");
      await worker.exited;
    }
    await startWorkerProcess(database.url);
    const row = await until("the end", id, ({ finished_at }) => finished_at !== null);
    expect(row).toMatchObject({
      state: "FAILED",
      attempts: 3,
      error: "Its worker died 3 times in a row: the job failed",
    });
    expect(gate.visits).toHaveLength(3);
  });

  test("a job of a stopping worker becomes QUEUED again without consuming an attempt", async () => {
    const id = await own.start("test_gate", { name: "slow", gate: gate.url });
    const worker = await startWorkerProcess(
      database.url,
      { SHUTDOWN_TIMEOUT_SECONDS: "1" },
      // On a busy machine its heartbeats are late, but it must not count as dead.
      { constants: { worker: { heartbeatMs: 5_000 } } },
    );
    await waitFor("the visit", () => gate.visits.length === 1);
    worker.signal("SIGTERM");
    await worker.exited;
    expect(await own.record(id)).toMatchObject({ state: "QUEUED", attempts: 0, error: null });
  });

  test("only a waiting job can be cancelled, and then does not run", async () => {
    const running = await own.start("test_gate", { name: "running", gate: gate.url });
    await startWorkerProcess(database.url, { WORKER_CONCURRENCY: "1" });
    await waitFor("the visit", () => gate.visits.includes("running"));
    const waiting = await own.start("test_gate", { name: "waiting", gate: gate.url });
    await expect(own.call("cancel_job", (await own.record(running)).id)).rejects.toMatchObject({
      code: "OF409",
      message: "The job is running",
    });
    const cancelled = await own.call("cancel_job", (await own.record(waiting)).id);
    expect(cancelled).toMatchObject({ state: "CANCELLED" });
    gate.open();
    await until("the end", running, ({ state }) => state === "SUCCEEDED");
    expect(await own.record(waiting)).toMatchObject({ state: "CANCELLED", attempts: 0 });
    expect(gate.visits).not.toContain("waiting");
  });
});

describe("a job that no user started", () => {
  let operator: string;
  beforeEach(async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `with u as (insert into users (email, is_active) values (gen_random_uuid() || '@example.com', true) returning id)
       insert into user_roles (user_id, role_id) select u.id, r.id from u, roles r where r.is_system returning user_id as id`,
    );
    operator = rows[0]?.id ?? "";
    await database.pool.query("delete from notifications");
    // The worker of the test before may have ended between a failure and the removal of its job, which would then fail
    // here.
    await database.pool.query("delete from graphile_worker._private_jobs");
  });
  const queue = async (task: string, input: object) => {
    const { rows } = await database.pool.query<{ id: string }>(
      "select queue_job($1, $2, gen_random_uuid()::text, null, 2) as id",
      [task, JSON.stringify(input)],
    );
    return rows[0]!.id;
  };
  const notified = async () => {
    const { rows } = await database.pool.query(
      "select kind, title, body, occurrences from notifications where user_id = $1",
      [operator],
    );
    return rows as { kind: string; title: string; body: string; occurrences: number }[];
  };
  const untilNotified = (occurrences = 1) =>
    waitFor(
      "the notification",
      async () => (await notified()).some((row) => row.occurrences === occurrences),
      30_000,
    );

  test("notifies holders of settings.update after its last attempt only", async () => {
    await startWorkerProcess(database.url);
    const id = await queue("test_end", { how: "error", message: "secret" });
    await waitFor("the first attempt", async () => {
      const job = await queued(id);
      return job?.attempts === 1 && job.locked_at === null;
    });
    expect(await notified()).toEqual([]);
    await own.runNow(id);
    await untilNotified();
    expect(await notified()).toEqual([
      {
        kind: "JOB_FAILED",
        title: "The task test_end failed",
        body: `The job failed unexpectedly; see the log (given up after 2 attempts)\nSearch the log of the workers for job ${id}.`,
        occurrences: 1,
      },
    ]);
  });

  test("merges the failures of one task", async () => {
    await startWorkerProcess(database.url);
    for (const occurrences of [1, 2]) {
      await queue("test_end", { how: "giveUp", message: "There is no such wine" });
      await untilNotified(occurrences);
    }
    expect(await notified()).toMatchObject([
      { body: expect.stringMatching(/^There is no such wine\n/), occurrences: 2 },
    ]);
  });

  test("notifies them when its workers died repeatedly", async () => {
    const gate = await startGate();
    try {
      await queue("test_gate", { name: "unowned", gate: gate.url });
      for (const deaths of [1, 2]) {
        const worker = await startWorkerProcess(database.url);
        await waitFor(`visit ${deaths}`, () => gate.visits.length === deaths);
        worker.signal("SIGKILL");
        await worker.exited;
      }
      await startWorkerProcess(database.url);
      await untilNotified();
      expect(await notified()).toMatchObject([
        {
          title: "The task test_gate failed",
          body: expect.stringMatching(/^Its worker died: the job failed\n/),
        },
      ]);
    } finally {
      await gate.close();
    }
  });
});

describe("an ended job", () => {
  const fail = async () => {
    const id = await own.start(
      "test_end",
      { how: "problem", message: "Not today" },
      { maxAttempts: 2 },
    );
    for (const attempt of [1, 2]) {
      await until(
        `attempt ${attempt}`,
        id,
        (row) => row.attempts === attempt && row.state !== "RUNNING",
      );
      await inQueue(id);
      await own.runNow(id);
    }
    return own.record(id);
  };

  test("runs again when its owner retries it, and leaves no dead job in the queue", async () => {
    await startWorkerProcess(database.url);
    const failed = await fail();
    expect(failed.state).toBe("FAILED");
    expect(await queued(failed.queue_job_id)).toMatchObject({ attempts: 2 });
    const again = await own.call("retry_job", failed.id);
    expect(again).toMatchObject({
      id: failed.id,
      state: "QUEUED",
      attempts: 0,
      error: null,
      finished_at: null,
    });
    expect(await queued(failed.queue_job_id)).toBeUndefined();
    await until("an attempt", again.queue_job_id, ({ attempts }) => attempts === 1);
  });

  test("is retried once when its owner retries it many times at once", async () => {
    await startWorkerProcess(database.url);
    const failed = await fail();
    await stopWorkers();
    const clicks = await Promise.allSettled(
      Array.from({ length: 5 }, () => own.call("retry_job", failed.id)),
    );
    expect(clicks.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { rows } = await database.pool.query(
      "select from graphile_worker._private_jobs where payload #>> '{input,message}' = 'Not today' and attempts = 0",
    );
    expect(rows).toHaveLength(1);
  });

  test("is settled when the queue has lost it, and deleted after the retention period", async () => {
    const lost = await own.start("test_end", { how: "finish", message: "never" });
    await database.pool.query("delete from graphile_worker._private_jobs where id = $1", [lost]);
    const kept = await own.record(lost);
    const settle = () => database.pool.query("select enqueue_job('settle_jobs', '{}')");
    await settle();
    await startWorkerProcess(database.url, { JOB_RETENTION_DAYS: "5" });
    const row = await until("the settling", lost, ({ finished_at }) => finished_at !== null);
    expect(row).toMatchObject({
      state: "FAILED",
      error: "The job failed for an unknown reason",
    });
    await database.pool.query(
      `update jobs set finished_at = now() - interval '5 days 1 hour' where id = $1`,
      [kept.id],
    );
    const young = await own.start("test_end", { how: "finish", message: "young" });
    const dead = await database.pool.query<{ id: string }>(
      `insert into graphile_worker._private_jobs (task_id, attempts, max_attempts, run_at, updated_at)
       select id, 2, 2, now() - d * interval '1 day', now() - d * interval '1 day'
       from graphile_worker._private_tasks, unnest(array[4, 6]) as d where identifier = 'test_end' returning id`,
    );
    await settle();
    await waitFor("the removal", async () => {
      const { rowCount } = await database.pool.query("select from jobs where id = $1", [kept.id]);
      return rowCount === 0;
    });
    expect(await own.record(young)).toMatchObject({ subject: "A test" });
    expect(await queued(dead.rows[0]?.id ?? "")).toBeDefined();
    expect(await queued(dead.rows[1]?.id ?? "")).toBeUndefined();
  });
});

describe("a job without an owner", () => {
  test.each([
    ["a task that is not listed", "start_campaigns", settingsOf("api")],
    ["a job that another job enqueues", "test_end", settingsOf("job")],
    ["a job without an owner", "test_end", "select set_config('office.source', 'api', true)"],
  ])("leaves no record: %s", async (_what, task, settings) => {
    const client = await database.pool.connect();
    try {
      await client.query("begin");
      await client.query(settings.replace("$user", own.userId));
      const before = await client.query("select from jobs");
      await client.query("select enqueue_job($1, '{}')", [task]);
      const after = await client.query("select from jobs");
      expect(after.rowCount).toBe(before.rowCount);
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});

function settingsOf(source: string): string {
  return `select set_config('office.source', '${source}', true), set_config('office.user_id', '$user', true)`;
}
