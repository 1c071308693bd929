import type { JobHelpers } from "graphile-worker";
import pg from "pg";

/** The job went to another worker, since this one was silent for too long. Nothing of the transaction was applied. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";

  constructor(jobId: string) {
    super(`Job ${jobId} belongs to another worker by now`);
  }
}

/** Where a job works, and on whose behalf. */
export interface JobPlace {
  /** The schema; checked before, see `tenantPattern`. */
  tenant: string;
  correlationId: string | null;
}

type Effect<T> = (client: pg.ClientBase) => Promise<T>;
type Helpers = Pick<JobHelpers, "job" | "withPgClient">;

// `locked_by` names a process, `locked_at` one attempt of it. The count of attempts would not do: adding a job with the key
// of a running one spends all of the running one's.
const owned = "id = $1 and locked_by = $2 and date_trunc('milliseconds', locked_at) = $3";
const isOwned = `select from graphile_worker._private_jobs where ${owned}`;
const hold = `${isOwned} for no key update`;
// The queue adds its own wait to `run_at` when it hears of the failure.
const fail = `update graphile_worker._private_jobs
  set run_at = greatest(run_at, now() + $4::integer * interval '1 ms')
  where ${owned}
  returning attempts, max_attempts,
    greatest(run_at, now()) + exp(least(attempts, 10)) * interval '1 second' as next_attempt_at`;
const unlockQueue = `update graphile_worker._private_job_queues q set locked_at = null, locked_by = null
  from j where q.id = j.job_queue_id and q.locked_by = $2`;
const end = `with j as (delete from graphile_worker._private_jobs where ${owned} returning job_queue_id),
  q as (${unlockQueue}) select from j`;
const giveBack = `with j as (
    update graphile_worker._private_jobs
    set locked_at = null, locked_by = null, attempts = greatest(attempts - 1, 0), updated_at = now(),
      run_at = greatest(run_at, now() + $4::integer * interval '1 ms')
    where ${owned} returning job_queue_id, attempts, max_attempts, run_at
  ), q as (${unlockQueue}) select attempts, max_attempts, run_at as next_attempt_at from j`;

/**
 * Runs `effect` in a transaction in the job's tenant that commits only while the job still belongs to this worker: a worker
 * that was taken for dead and wakes up changes nothing. `silenceMs` is how long the transaction may lie idle, as it does in
 * a process that is frozen.
 *
 * The job's row is locked at the end only, after the rows of `effect`: enqueuing a job under the same key, which locks in that
 * order as well, neither waits for the effect nor deadlocks with it.
 * @throws LostOwnershipError
 */
export function withOwnedJob<T>(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  effect: Effect<T>,
): Promise<T> {
  return transaction(helpers, place, silenceMs, effect, { close: hold });
}

/** As {@link withOwnedJob}, and ends the job in the same transaction: what `effect` and then `settle` did is done exactly once. */
export function completeOwnedJob<T>(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  effect: Effect<T>,
  settle: Effect<unknown>,
): Promise<T> {
  return transaction(helpers, place, silenceMs, effect, { close: end, settle });
}

/** Runs `effect` in a transaction in the job's tenant that commits whoever the job belongs to. */
export function inTenantOfJob<T>(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  effect: Effect<T>,
): Promise<T> {
  return transaction(helpers, place, silenceMs, effect, { fenced: false });
}

/** What the queue does with a job whose attempt is over. */
export interface AttemptEnd {
  attempts: number;
  max_attempts: number;
  next_attempt_at: Date;
}

/**
 * Gives the job back to the queue without having spent an attempt, and in the same transaction does `settle`. `notBeforeMs`: how
 * long the job waits at least.
 * @throws LostOwnershipError
 */
export function requeueJob(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  notBeforeMs = 0,
): Promise<void> {
  return endAttempt(helpers, place, silenceMs, settle, giveBack, notBeforeMs);
}

/**
 * Does `settle` for an attempt that has failed, before the queue hears of it; with `notBeforeMs` as in {@link requeueJob}.
 * @throws LostOwnershipError
 */
export function failOwnedJob(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  notBeforeMs = 0,
): Promise<void> {
  return endAttempt(helpers, place, silenceMs, settle, fail, notBeforeMs);
}

function endAttempt(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  statement: string,
  notBeforeMs: number,
): Promise<void> {
  return transaction(helpers, place, silenceMs, async (client) => {
    const values = [...fence(helpers), Math.ceil(notBeforeMs)];
    const { rows } = await client.query<AttemptEnd>(statement, values);
    const [row] = rows;
    if (!row) throw new LostOwnershipError(helpers.job.id);
    await settle(client, row);
  });
}

function fence({ job }: Helpers): unknown[] {
  return [job.id, job.locked_by, job.locked_at];
}

function transaction<T>(
  helpers: Helpers,
  place: JobPlace,
  silenceMs: number,
  effect: Effect<T>,
  {
    close,
    settle,
    fenced = true,
  }: { close?: string; settle?: Effect<unknown>; fenced?: boolean } = {},
): Promise<T> {
  const requireOwned = async (client: pg.ClientBase, sql: string) => {
    const { rowCount } = await client.query(sql, fence(helpers));
    if (rowCount !== 1) throw new LostOwnershipError(helpers.job.id);
  };
  return helpers.withPgClient(async (client) => {
    await client.query("begin");
    try {
      await client.query(
        `select set_config('search_path', $1, true), set_config('office.correlation_id', $2, true),
          set_config('office.source', 'job', true), set_config('application_name', $4, true),
          set_config('idle_in_transaction_session_timeout', $3, true)`,
        [
          `${pg.escapeIdentifier(place.tenant)}, extensions, pg_temp`,
          place.correlationId ?? "",
          String(silenceMs),
          `office job ${place.correlationId ?? helpers.job.id}`,
        ],
      );
      if (fenced) await requireOwned(client, isOwned);
      const result = await effect(client);
      if (close !== undefined) await requireOwned(client, close);
      // After the job's row: whoever cancels or loses a job takes the rows in this order.
      await settle?.(client);
      await client.query("commit");
      return result;
    } catch (error) {
      // A broken connection cannot roll back; the server does it then, and the first error is the one to tell.
      await client.query("rollback").catch(() => undefined);
      throw error;
    }
  });
}
