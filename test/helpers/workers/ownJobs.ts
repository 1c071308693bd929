import { actAs } from "../database.ts";
import type { TestDatabase } from "../database.ts";

/** A job record as its owners see it. */
export interface JobRow {
  id: string;
  state: string;
  attempts: number;
  max_attempts: number;
  error: string | null;
  subject: string | null;
  next_attempt_at: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  queue_job_id: string;
}

/** Jobs of test tasks started by a user's action. */
export interface OwnJobs {
  userId: string;
  /** Starts a job of a test task as the user; returns its id in the queue. */
  start(
    task: string,
    input: object,
    options?: { key?: string; maxAttempts?: number },
  ): Promise<string>;
  /** The newest record of a queued job. */
  record(queueJobId: string): Promise<JobRow>;
  /** Calls a function with a record's id as the user. */
  call(name: "retry_job" | "cancel_job", id: string): Promise<JobRow>;
  /** Changes the input of the waiting job and lets it run at once. */
  runNow(queueJobId: string, input?: object): Promise<void>;
}

/** Registers the test tasks as visible to users, and creates a user. */
export async function createOwnJobs({ pool }: TestDatabase): Promise<OwnJobs> {
  await pool.query(`
    create or replace function job_kinds() returns table (
      kind text, title text, can_retry boolean, can_cancel boolean, permissions text[]
    ) as $$
      values ('test_end', 'Test', true, true, array['products.read']), ('test_gate', 'Gate', true, true, array['products.read'])
    $$ language sql immutable`);
  const { rows } = await pool.query<{ id: string }>(
    "insert into users (email, is_active) values ('starter@example.com', true) returning id",
  );
  const userId = rows[0]?.id ?? "";

  const asStarter = async <Row>(sql: string, values: unknown[], permissions: string[]) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await actAs(client, { userId, permissions });
      if (sql.includes("enqueue_job")) await client.query("set local role none");
      const result = await client.query(sql, values);
      await client.query("commit");
      return result.rows[0] as Row;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  };

  return {
    userId,
    async start(task, input, { key = null, maxAttempts = 25 } = {}) {
      const row = await asStarter<{ id: string }>(
        "select enqueue_job($1, $2, $3, null, 'A test', $4) as id",
        [task, JSON.stringify(input), key, maxAttempts],
        [],
      );
      return row.id;
    },
    async record(queueJobId) {
      const found = await pool.query<JobRow>(
        "select * from jobs where queue_job_id = $1 order by created_at desc limit 1",
        [queueJobId],
      );
      const [row] = found.rows;
      if (!row) throw new Error(`there is no record of job ${queueJobId}`);
      return row;
    },
    call: (name, id) => asStarter<JobRow>(`select * from ${name}($1)`, [id], ["products.read"]),
    async runNow(queueJobId, input) {
      await pool.query(
        `update graphile_worker._private_jobs
         set payload = case when $2::jsonb is null then payload::jsonb else jsonb_set(payload::jsonb, '{input}', $2::jsonb) end::json
         where id = $1`,
        [queueJobId, input === undefined ? null : JSON.stringify(input)],
      );
      await pool.query(
        "select graphile_worker.reschedule_jobs(array[$1::bigint], run_at => now())",
        [queueJobId],
      );
    },
  };
}
