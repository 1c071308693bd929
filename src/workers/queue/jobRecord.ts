import type { JobHelpers } from "graphile-worker";
import pg from "pg";
import type { JobPostponed } from "./JobProblem.ts";
import { JobProblem } from "./JobProblem.ts";
import type { JobPlace } from "./ownership.ts";
import { failOwnedJob, requeueJob } from "./ownership.ts";

/**
 * What the people who started a job are told of it. Of a job that nobody started all of this does nothing, or only what the queue
 * needs.
 */
export interface JobRecord {
  /** The settling part of the transaction that ends the job. With a reason it was given up. */
  settle(client: pg.ClientBase, reason?: string): Promise<void>;
  /** An attempt failed; the queue is told by what is thrown afterwards. */
  failed(error: unknown): Promise<void>;
  /** The job goes back to the queue at no attempt's cost. */
  givenBack(problem?: JobPostponed): Promise<void>;
}

const record = "record_job($1, $2, $3, $4, $5, $6)";

/** Records that an attempt begins. Fails when the tenant, which must be there, is of an older release. */
export async function beginRecord(
  helpers: JobHelpers,
  place: JobPlace,
  silenceMs: number,
): Promise<JobRecord> {
  const { job } = helpers;
  const { rows } = await helpers.query<{ records: number }>(
    `select ${pg.escapeIdentifier(place.tenant)}.${record} as records`,
    [job.id, "RUNNING", job.attempts, job.max_attempts, null, null],
  );
  const someone = (rows[0]?.records ?? 0) > 0;
  const write = async (client: pg.ClientBase, state: string, rest: readonly unknown[]) => {
    if (someone) await client.query(`select ${record}`, [job.id, state, ...rest]);
  };
  return {
    settle: (client, reason) =>
      write(client, reason === undefined ? "SUCCEEDED" : "FAILED", [
        null,
        null,
        reason ?? null,
        null,
      ]),
    async failed(error) {
      const { notBeforeMs, message } = explain(error, place.correlationId);
      if (!someone && notBeforeMs === 0) return;
      await failOwnedJob(
        helpers,
        place,
        silenceMs,
        (client, { attempts, max_attempts, next_attempt_at }) =>
          attempts < max_attempts
            ? write(client, "QUEUED", [attempts, max_attempts, message, next_attempt_at])
            : write(client, "FAILED", [
                // Adding a job of the same key spends all attempts of one that runs.
                null,
                null,
                `${message} (given up after ${count(job.attempts)})`,
                null,
              ]),
        notBeforeMs,
      );
    },
    givenBack: (problem) =>
      requeueJob(
        helpers,
        place,
        silenceMs,
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
  const where = correlationId === null ? "" : ` under the correlation id ${correlationId}`;
  return { message: `Something unexpected went wrong; the log says what${where}`, notBeforeMs: 0 };
}

function count(attempts: number): string {
  return attempts === 1 ? "1 attempt" : `${attempts} attempts`;
}
