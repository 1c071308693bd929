import { afterAll, beforeAll, test } from "@jest/globals";
import { Logger, runOnce } from "graphile-worker";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { contractOf } from "../helpers/internals/contract.ts";

const silent = new Logger(() => () => undefined);
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

/** The file whose SQL names the queue's tables. */
const sqlFile = "db/jobs.sql";
/** The columns that it uses. */
const columns = {
  _private_jobs: {
    id: "bigint",
    job_queue_id: "integer",
    task_id: "integer",
    payload: "json",
    run_at: "timestamp with time zone",
    attempts: "smallint",
    max_attempts: "smallint",
    last_error: "text",
    key: "text",
    locked_at: "timestamp with time zone",
    locked_by: "text",
    updated_at: "timestamp with time zone",
  },
  _private_job_queues: {
    id: "integer",
    locked_at: "timestamp with time zone",
    locked_by: "text",
  },
  _private_tasks: { id: "integer", identifier: "text" },
};

test.each(Object.entries(columns))(
  "%s has the columns that our SQL uses",
  async (table, wanted) => {
    const requireThat = contractOf("graphile-worker", sqlFile);
    const { rows } = await database.pool.query<{ name: string; type: string }>(
      `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
      [`graphile_worker.${table}`],
    );
    const found = new Map(rows.map(({ name, type }) => [name, type]));
    for (const [name, type] of Object.entries(wanted))
      requireThat(`${table}.${name} is ${type}`, found.get(name) === type);
  },
);

test("a new job under the key of a running one uses up the attempts of that one", async () => {
  const requireThat = contractOf("graphile-worker", "db/jobs.sql");
  const add = "select id::text from graphile_worker.add_job('task', '{}', job_key => 'key')";
  const { rows } = await database.pool.query<{ id: string }>(add);
  const { id } = rows[0]!;
  await database.pool.query(
    "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'worker' where id = $1",
    [id],
  );
  await database.pool.query(add);
  const { rows: jobs } = await database.pool.query<{ is_used_up: boolean; key: string | null }>(
    "select attempts = max_attempts as is_used_up, key from graphile_worker._private_jobs where id = $1",
    [id],
  );
  requireThat(
    "add_job takes the key and the attempts of a running job",
    jobs[0]?.is_used_up === true && jobs[0].key === null,
  );
});

test("a failed job waits as long as office_jobs.postpone predicts", async () => {
  const requireThat = contractOf("graphile-worker", sqlFile);
  await database.pool.query("select graphile_worker.add_job('fails', '{}')");
  const before = Date.now();
  await runOnce({
    connectionString: database.url,
    logger: silent,
    taskList: {
      fails: () => {
        throw new Error("failed");
      },
    },
  });
  const { rows } = await database.pool.query<{
    run_at: Date;
    attempts: number;
    last_error: string;
  }>(
    `select j.run_at, j.attempts, j.last_error from graphile_worker._private_jobs j
     join graphile_worker._private_tasks t on t.id = j.task_id
     where t.identifier = 'fails' and j.locked_at is null`,
  );
  // On a busy machine the same run may have tried it again.
  const waitMs = Math.exp(rows[0]?.attempts ?? 0) * 1000;
  const runAt = rows[0]?.run_at.getTime() ?? 0;
  requireThat(
    "after its nth failure a job waits e to the nth seconds",
    runAt >= before + waitMs - 1 && runAt <= Date.now() + waitMs + 1,
  );
  requireThat("last_error is the error's message", rows[0]?.last_error === "failed");
});
