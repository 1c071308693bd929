import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { waitFor, waitForOutput } from "../helpers/waitFor.ts";
import type { Gate } from "../helpers/workers/gate.ts";
import { startGate } from "../helpers/workers/gate.ts";
import type { QueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { tenant, createQueueDatabase } from "../helpers/workers/queueDatabase.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let db: QueueDatabase;
let gate: Gate;
let worker: WorkerProcess;

beforeAll(async () => {
  db = await createQueueDatabase();
  worker = await startWorkerProcess(db.url);
});
afterAll(async () => {
  await endWorkers();
  await db?.drop();
});
beforeEach(async () => {
  gate = await startGate();
  await db.query(`truncate ${tenant}.test_effects`);
});
afterEach(() => gate.close());

describe("a job", () => {
  test("does not run when its transaction rolls back", async () => {
    const inTransaction = (name: string, end: string) =>
      db.query(`begin; select ${tenant}.enqueue_job('test_note', '{"name": "${name}"}'); ${end}`);
    await inTransaction("rolled back", "rollback");
    await inTransaction("kept", "commit");
    await db.expectEffects(["kept"]);
    const left = await db.query("select from graphile_worker._private_jobs");
    expect(left.rowCount).toBe(0);
  });

  test("runs in the tenant that enqueued it, as the worker role, with the request's correlation id", async () => {
    await db.makeTenant("backoffice_e2e_here");
    await db.query(`
      begin;
      set local office.correlation_id = 'request-1';
      select backoffice_e2e_here.enqueue_job('test_note', '{"name": "there"}');
      commit`);
    await db.expectEffects(["there"], "backoffice_e2e_here");
    await db.expectEffects([]);
    const { rows } = await db.query(
      "select role, source, correlation_id from backoffice_e2e_here.test_effects",
    );
    expect(rows).toEqual([{ role: "office_worker", source: "job", correlation_id: "request-1" }]);
  });

  test("keeps its attempts when it is enqueued again while a worker takes it", async () => {
    let taken = 0;
    const spent: number[] = [];
    const ask = async () => {
      while (taken < 300)
        // A task without a worker.
        await db.query(
          `select office_jobs.add('nobodys', '{"tenant": "${tenant}"}', 'asked again')`,
        );
    };
    const take = async () => {
      while (taken < 300) {
        await db.query(
          `update graphile_worker._private_jobs set locked_at = now(), locked_by = 'taker'
           where id in (select id from graphile_worker._private_jobs where key = 'asked again' and locked_at is null for update skip locked)`,
        );
        const { rows } = await db.query<{ attempts: number }>(
          `delete from graphile_worker._private_jobs
           where id in (select id from graphile_worker._private_jobs where locked_by = 'taker' and key is null for update skip locked)
           returning attempts`,
        );
        taken += rows.length;
        spent.push(...rows.map(({ attempts }) => attempts).filter((attempts) => attempts > 0));
      }
    };
    await Promise.all([ask(), ask(), take()]);
    await db.query(
      "delete from graphile_worker._private_jobs where task_id = (select id from graphile_worker._private_tasks where identifier = 'nobodys')",
    );
    expect(spent).toEqual([]);
  });

  test("ends without an error when its tenant no longer exists", async () => {
    const { rows } = await db.query<{ id: string }>(
      `select office_jobs.add('test_note', '{"tenant": "backoffice_e2e_gone", "input": {"name": "x"}}') as id`,
    );
    const id = rows[0]!.id;
    await db.waitUntilGone(id);
    await waitForOutput(worker, "job skipped: its tenant no longer exists");
  });

  test("fails with the reason when its input is invalid, without logging its values", async () => {
    const id = await db.enqueue("test_note", { name: 1, surprise: "hunter2" });
    const failed = await waitFor("the failure", async () => {
      const job = await db.job(id);
      return typeof job?.last_error === "string" && job;
    });
    expect(failed).toMatchObject({ attempts: 1, locked_by: null });
    expect(failed.last_error).toContain("expected string");
    const line = await waitFor("the line in the log", () =>
      worker
        .output()
        .split("\n")
        .find((text) => text.includes(`"jobId":"${id}"`)),
    );
    expect(JSON.parse(line)).toMatchObject({ level: "error", task: "test_note", tenant });
    expect(worker.output()).not.toContain("hunter2");
    await db.query("select graphile_worker.complete_jobs(array[$1::bigint])", [id]);
  });

  test("runs after a running job with the same key, which ends normally", async () => {
    const first = await db.enqueue("test_gate", { name: "first", gate: gate.url }, { key: "k" });
    await waitFor("the first to run", () => gate.visits.length === 1);
    const second = await db.enqueue("test_gate", { name: "second", gate: gate.url }, { key: "k" });
    const again = await db.enqueue("test_gate", { name: "third", gate: gate.url }, { key: "k" });
    expect(new Set([first, second, again]).size).toBeGreaterThan(1);
    gate.open();
    await Promise.all([db.waitUntilGone(first), db.waitUntilGone(second), db.waitUntilGone(again)]);
    await waitFor("the last of them", async () => {
      const { rows } = await db.query<{ name: string }>(`select name from ${tenant}.test_effects`);
      return rows.some((row) => row.name === "third") && rows.some((row) => row.name === "first");
    });
  });

  test("changes nothing when another worker owns it", async () => {
    const ids = [
      await db.enqueue("test_gate", { name: "before", gate: gate.url }),
      await db.enqueue("test_gate", { name: "during", gate: gate.url, inside: true }),
    ];
    await waitFor("both to run", () => gate.visits.length === 2);
    await db.query("insert into office_jobs.workers values ('another', '1 hour')");
    await db.query(
      "update graphile_worker._private_jobs set locked_by = 'another', locked_at = now() where id = any($1)",
      [ids],
    );
    gate.open();
    await waitFor("both to notice", () =>
      ids.every((id) => worker.output().includes(`Job ${id} belongs to another worker`)),
    );
    await db.expectEffects([]);
    for (const id of ids)
      expect(await db.job(id)).toMatchObject({ locked_by: "another", last_error: null });
    await db.query("select office_jobs.leave('another')");
    await db.expectEffects(["before", "during"]);
  });

  test("without effects is ended by its owner only", async () => {
    const id = await db.enqueue("test_idle", { name: "idle", gate: gate.url });
    await waitFor("it to run", () => gate.visits.length === 1);
    await db.query("insert into office_jobs.workers values ('another', '1 hour')");
    await db.query(
      "update graphile_worker._private_jobs set locked_by = 'another', locked_at = now() where id = $1",
      [id],
    );
    gate.open();
    await waitFor("it to notice", () =>
      worker.output().includes(`Job ${id} belongs to another worker`),
    );
    expect(await db.job(id)).toMatchObject({ locked_by: "another" });
    await db.query("select office_jobs.leave('another')");
    await db.waitUntilGone(id);
  });
});

describe("the registry of workers", () => {
  const lock = (id: string, age: string) =>
    db.query(
      `update graphile_worker._private_jobs
        set locked_by = 'ghost', locked_at = now() - $2::interval, attempts = attempts + 1 where id = $1`,
      [id, age],
    );
  const releaseDead = async () => {
    const { rows } = await db.query("select * from office_jobs.release_dead('1 minute')");
    return rows;
  };
  /** A job whose task no worker has. */
  const strangeJob = () => db.enqueue("test_unknown", {});

  test("releases the jobs of dead workers, and fails a job after three deaths in a row", async () => {
    const id = await strangeJob();
    for (const deaths of [1, 2, 3]) {
      await lock(id, "2 minutes");
      // The running worker also releases dead workers' jobs; either may be first.
      await releaseDead();
      await waitFor("the release", async () => (await db.job(id))?.locked_by === null);
      expect(await db.job(id)).toMatchObject({
        last_error: `Its worker died ${deaths} ${deaths === 1 ? "time" : "times"}`,
        attempts: deaths < 3 ? deaths : 25,
      });
    }
    await db.query("select graphile_worker.complete_jobs(array[$1::bigint])", [id]);
  });

  test("shows a job whose worker died in the last attempt as failed", async () => {
    const { rows } = await db.query<{ id: string }>(
      `select office_jobs.add('test_unknown', '{"tenant": "${tenant}", "input": {}}', max_attempts => 1) as id`,
    );
    const id = rows[0]!.id;
    for (const attempts of [1, 2]) {
      await lock(id, "2 minutes");
      await releaseDead();
      await waitFor("the release", async () => (await db.job(id))?.locked_by === null);
      expect(await db.job(id)).toMatchObject({ attempts, max_attempts: 2 });
    }
    expect(await db.job(id)).toMatchObject({ last_error: "Its worker died 2 times" });
    await db.query("select graphile_worker.complete_jobs(array[$1::bigint])", [id]);
  });

  test("does not release the jobs of live workers", async () => {
    const id = await strangeJob();
    await db.query("insert into office_jobs.workers values ('ghost', '1 hour')");
    await lock(id, "3 hours");
    expect(await releaseDead()).toEqual([]);
    expect(await db.job(id)).toMatchObject({ locked_by: "ghost" });
    await db.query("select office_jobs.leave('ghost')");
    expect(await db.job(id)).toMatchObject({ locked_by: null, attempts: 0 });
    await db.query("select graphile_worker.complete_jobs(array[$1::bigint])", [id]);
  });

  test("distinguishes a worker that was away from one with a steady heartbeat", async () => {
    const beat = async () => {
      const { rows } = await db.query<{ pulse: string }>(
        "select office_jobs.beat('careful', '1 minute') as pulse",
      );
      return rows[0]?.pulse;
    };
    expect(await beat()).toBe("new");
    expect(await beat()).toBe("steady");
    await db.query(
      "update office_jobs.workers set seen_at = now() - interval '50 s' where id = 'careful'",
    );
    expect(await beat()).toBe("late");
    expect(await beat()).toBe("steady");
    await db.query("delete from office_jobs.workers where id = 'careful'");
    expect(await beat()).toBe("new");
    await db.query("select office_jobs.leave('careful')");
  });
});
