import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseCronItems } from "graphile-worker";
import { crontab, tasks } from "../../src/workers/tasks.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { delayJobs } from "../helpers/workers/delayJobs.ts";
import { startGate } from "../helpers/workers/gate.ts";
import type { QueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { tenant, createQueueDatabase } from "../helpers/workers/queueDatabase.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const tasksFolder = fileURLToPath(new URL("../../src/workers/tasks", import.meta.url));

describe("the task list", () => {
  test("contains each task under the name of its file", () => {
    const files = readdirSync(tasksFolder);
    expect(files.map((name) => name.replace(/\.ts$/, "")).toSorted()).toEqual(
      Object.keys(tasks).toSorted(),
    );
  });

  test("contains every scheduled task, and the schedule uses the main tenant", () => {
    const items = parseCronItems(crontab("wine"));
    expect(items.filter((item) => !(item.task in tasks))).toEqual([]);
    expect(new Set(items.map((item) => item.payload?.["tenant"]))).toEqual(new Set(["wine"]));
  });
});

test("a task of each minute uses all its attempts before its next run", () => {
  const backoffSeconds = (attempt: number) => Math.exp(attempt);
  for (const { match, options, task } of crontab("wine")) {
    if (match !== "* * * * *") continue;
    const retries = Array.from({ length: (options?.maxAttempts ?? 25) - 1 }, (_, n) => n + 1);
    const lastSecond = retries.reduce((sum, attempt) => sum + backoffSeconds(attempt), 0);
    expect({ task, inTime: lastSecond < 45 }).toEqual({ task, inTime: true });
  }
});

describe("the scheduled tasks", () => {
  let db: QueueDatabase;
  let worker: WorkerProcess;
  const inTenant = (sql: string) =>
    db.query(`begin; set local search_path to ${tenant}, extensions; ${sql}; commit`);
  const run = async (task: string) => db.waitUntilGone(await db.enqueue(task, {}));
  const schemas = async () => {
    const { rows } = await db.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname like 'backoffice%' order by 1",
    );
    return rows.map((row) => row.name);
  };

  beforeAll(async () => {
    db = await createQueueDatabase();
    // Simulates an old schedule whose last runs were missed.
    await db.query(
      `insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
        values ($1 || ':audit_partitions', now() - interval '9 days', now() - interval '3 days')`,
      [tenant],
    );
    // The sweep would drop what its test still reads. The other runs jobs in all test tenants, and a tenant with a
    // running job is kept.
    await delayJobs((sql) => db.query(sql), ":(sweep_test_tenants|clean_exports):schedule$");
    worker = await startWorkerProcess(db.url);
  });
  afterAll(async () => {
    await endWorkers();
    await db?.drop();
  });

  test("and all others are those that migrations may queue", async () => {
    const { rows } = await db.query<{ tasks: string[] }>(`select ${tenant}.known_tasks() as tasks`);
    expect(rows[0]?.tasks).toEqual(Object.keys(tasks).toSorted());
  });

  test("and the tasks that users see all exist", async () => {
    const { rows } = await db.query<{ kind: string }>(`select kind from ${tenant}.job_kinds()`);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.map(({ kind }) => kind).filter((kind) => !(kind in tasks))).toEqual([]);
  });

  test("make up a missed daily run", async () => {
    await waitFor("the run", () => worker.output().includes("audit partitions maintained"));
    const { rows } = await db.query(
      `select last_execution > now() - interval '25 hours' as made_up
        from graphile_worker._private_known_crontabs where identifier = $1`,
      [`${tenant}:audit_partitions`],
    );
    expect(rows).toEqual([{ made_up: true }]);
  });

  test("expire invitations", async () => {
    await inTenant(`
      insert into users (email) values ('late@example.com'), ('early@example.com');
      insert into roles (name) values ('Buyer');
      insert into invitations (user_id, email, role_id, expires_at)
      select u.id, u.email, r.id, now() + case when u.email ~ 'late' then interval '-1 s' else '1 day' end
      from users u, roles r where r.name = 'Buyer'`);
    await run("expire_invitations");
    const { rows } = await db.query(
      `select email, state from ${tenant}.invitations order by email`,
    );
    expect(rows).toEqual([
      { email: "early@example.com", state: "pending" },
      { email: "late@example.com", state: "expired" },
    ]);
    const audit = await db.query(
      `select operation, after, metadata from ${tenant}.audit_log where entity_type = 'Invitation' and operation = 'UPDATE'`,
    );
    expect(audit.rows).toEqual([
      { operation: "UPDATE", after: { status: "expired" }, metadata: { source: "job" } },
    ]);
  });

  test("delete only sessions that ended long ago", async () => {
    await inTenant(`
      insert into users (email) values ('someone@example.com');
      insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
      select u.id, sha256(days::text::bytea), now() - make_interval(days => days), now() + interval '1 day'
      from users u, unnest(array[89, 91]) as days where u.email = 'someone@example.com'`);
    await run("remove_old_sessions");
    const { rows } = await db.query(
      `select extract(day from now() - idle_expires_at)::integer as days from ${tenant}.sessions`,
    );
    expect(rows).toEqual([{ days: 89 }]);
  });

  test("delete notifications after 60 days", async () => {
    await inTenant(`
      insert into users (email) values ('reader@example.com');
      insert into notifications (user_id, kind, title, subject_key, created_at)
      select u.id, 'JOB_FAILED', days || ' days', days, now() - make_interval(days => days)
      from users u, unnest(array[59, 61]) as days where u.email = 'reader@example.com'`);
    await run("schedule_notifications");
    const { rows } = await db.query(`select title from ${tenant}.notifications`);
    expect(rows).toEqual([{ title: "59 days" }]);
  });

  test("create the audit log's next partitions and drop expired ones", async () => {
    const partitions = async () => {
      const { rows } = await db.query<{ name: string }>(
        `select c.relname as name from pg_class c
          where c.relnamespace = '${tenant}'::regnamespace and c.relname ~ '^audit_log_(reads|writes)_[0-9_]+$'
            and c.relkind = 'r' order by 1`,
      );
      return rows.map((row) => row.name);
    };
    await run("audit_partitions");
    const present = await partitions();
    // Three months each, and the month in which the database was made if it has ended since.
    expect([6, 8]).toContain(present.length);
    await inTenant(`
      create table audit_log_reads_2020_01 partition of audit_log_reads
        for values from ('2020-01-01 00:00Z') to ('2020-02-01 00:00Z');
      alter table audit_log_reads_2020_01 owner to office_owner;
      drop table ${present.at(-1)}`);
    await run("audit_partitions");
    expect(await partitions()).toEqual(present);
  });

  test("drop unused test tenants and keep those in use", async () => {
    const gate = await startGate();
    for (const name of ["fresh", "stale", "busy", "unknown"])
      await db.makeTenant(`${tenant}_e2e_${name}`);
    await db.query("select office_jobs.touch_tenant($1, 'fresh')", [`${tenant}_e2e_fresh`]);
    const queued = await db.query<{ id: string }>(
      `select office_jobs.add('test_unknown', '{"tenant": "${tenant}_e2e_stale", "input": {}}') as id`,
    );
    await db.enqueue("test_gate", { name: "busy", gate: gate.url }, { in: `${tenant}_e2e_busy` });
    await waitFor("the job to run", () => gate.visits.length === 1);
    for (const name of ["stale", "busy"])
      await db.query(
        "insert into office_jobs.tenants (tenant, run_id, last_used_at) values ($1, $2, now() - interval '25 hours')",
        [`${tenant}_e2e_${name}`, name],
      );

    await run("sweep_test_tenants");
    expect(await schemas()).toEqual([
      tenant,
      `${tenant}_e2e_busy`,
      `${tenant}_e2e_fresh`,
      `${tenant}_e2e_unknown`,
    ]);
    expect(await db.job(queued.rows[0]!.id)).toBeUndefined();
    const outcomes = (count: number) =>
      waitFor(`${count} outcomes in the log`, () => {
        const lines = [
          ...worker.output().matchAll(/"testTenant":"\w+_e2e_(\w+)","msg":"test tenant (\w+)/g),
        ];
        return (
          lines.length >= count && lines.map(([, name, outcome]) => `${name} ${outcome}`).toSorted()
        );
      });
    expect(await outcomes(2)).toEqual(["busy kept", "stale dropped"]);
    gate.open();
    await db.expectEffects(["busy"], `${tenant}_e2e_busy`);
    await gate.close();

    // A tenant without a recorded use; its day starts with the first sweep.
    await db.query(
      "update office_jobs.tenants set last_used_at = now() - interval '25 hours' where run_id is null",
    );
    await run("sweep_test_tenants");
    const { rows: recorded } = await db.query("select tenant, run_id from office_jobs.tenants");
    expect({ schemas: await schemas(), recorded, outcomes: await outcomes(4) }).toEqual({
      schemas: [tenant, `${tenant}_e2e_fresh`],
      recorded: [{ tenant: `${tenant}_e2e_fresh`, run_id: "fresh" }],
      outcomes: ["busy dropped", "busy kept", "stale dropped", "unknown dropped"],
    });
  });

  test("can drop only test tenants of their own schema", async () => {
    for (const name of [tenant, "graphile_worker", "other_e2e_x", "backofficeXe2eXx"])
      await expect(db.query(`select ${tenant}.drop_tenant($1)`, [name])).rejects.toThrow(
        `${name} is not the tenant of a test run of ${tenant}`,
      );
    expect(await schemas()).toContain(tenant);
  });
});
