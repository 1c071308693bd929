import type { JobHelpers } from "graphile-worker";
import pg from "pg";
import type { JobPostponed } from "./JobProblem.ts";
import { JobProblem } from "./JobProblem.ts";
import type { JobScope } from "./ownership.ts";
import { failOwnedJob, requeueJob } from "./ownership.ts";

/** The status of a job that its users see. A job that no user started has none, and operators are notified when it fails. */
export interface JobRecord {
  /** Writes the final status in the transaction that ends the job; a reason marks the job as failed. */
  settle(client: pg.ClientBase, reason?: string): Promise<void>;
  /** Records a failed attempt. The queue itself learns of the failure from the error that the task throws. */
  fail(error: unknown): Promise<void>;
  /** Requeues the job without consuming an attempt. */
  requeue(problem?: JobPostponed): Promise<void>;
}

const record = "record_job($1, $2, $3, $4, $5, $6)";

/** Records the start of an attempt. Throws when the tenant's schema is of an older release; the tenant must exist. */
export async function beginRecord(
  helpers: JobHelpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
): Promise<JobRecord> {
  const { job } = helpers;
  const { rows } = await helpers.query<{ records: number }>(
    `select ${pg.escapeIdentifier(scope.tenant)}.${record} as records`,
    [job.id, "RUNNING", job.attempts, job.max_attempts, null, null],
  );
  const someone = (rows[0]?.records ?? 0) > 0;
  const write = async (client: pg.ClientBase, state: string, rest: readonly unknown[]) => {
    if (someone) await client.query(`select ${record}`, [job.id, state, ...rest]);
  };
  const writeFailure = async (client: pg.ClientBase, reason: string) => {
    if (someone) await write(client, "FAILED", [null, null, reason, null]);
    else
      await client.query("select notify_of_failed_task($1, $2, $3)", [
        job.task_identifier,
        job.id,
        reason,
      ]);
  };
  return {
    settle: (client, reason) =>
      reason === undefined
        ? write(client, "SUCCEEDED", [null, null, null, null])
        : writeFailure(client, reason),
    async fail(error) {
      const { notBeforeMs, message } = explain(error, scope.correlationId);
      // The queue's count is not used: adding a job with the key of a running job sets its attempts to the maximum.
      const reason = `${message} (given up after ${count(job.attempts)})`;
      await failOwnedJob(
        helpers,
        scope,
        heartbeatTimeoutMs,
        (client, { attempts, max_attempts, next_attempt_at }) =>
          attempts < max_attempts
            ? write(client, "QUEUED", [attempts, max_attempts, message, next_attempt_at])
            : writeFailure(client, reason),
        notBeforeMs,
      );
    },
    requeue: (problem) =>
      requeueJob(
        helpers,
        scope,
        heartbeatTimeoutMs,
        (client, { attempts, max_attempts, next_attempt_at }) =>
          write(client, "QUEUED", [
            attempts,
            max_attempts,
            problem?.message ?? null,
            problem ? next_attempt_at : null,
          ]),
        problem?.notBeforeMs,
      ),
  };
}

function explain(error: unknown, correlationId: string | null) {
  if (error instanceof JobProblem) return error;
  const where = correlationId === null ? "" : ` for correlation id ${correlationId}`;
  return { message: `The job failed unexpectedly; see the log${where}`, notBeforeMs: 0 };
}

function count(attempts: number): string {
  return attempts === 1 ? "1 attempt" : `${attempts} attempts`;
}
