import type { JobHelpers } from "graphile-worker";
import pg from "pg";

/** Another worker owns the job because this worker's heartbeat timed out. The transaction was rolled back. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";

  constructor(jobId: string) {
    super(`Job ${jobId} belongs to another worker`);
  }
}

/** The tenant that a job works in, and the correlation id of the request that queued it. */
export interface JobScope {
  /** The tenant schema; the caller has checked it against `tenantPattern`. */
  tenant: string;
  correlationId: string | null;
}

type Effect<T> = (client: pg.ClientBase) => Promise<T>;
type Helpers = Pick<JobHelpers, "job" | "withPgClient">;

const isOwned = "select office_jobs.is_owned($1, $2, $3) as owned";
const lockJob = "select office_jobs.hold($1, $2, $3) as owned";
const finish = "select office_jobs.finish($1, $2, $3) as owned";
const postpone = "select * from office_jobs.postpone($1, $2, $3, $4)";
const requeue = "select * from office_jobs.give_back($1, $2, $3, $4)";

/**
 * Runs `effect` in a transaction in the job's tenant. It commits only while this worker owns the job, so a worker that
 * was declared dead changes nothing. `heartbeatTimeoutMs` limits how long the transaction may be idle.
 *
 * The job's row is locked last, after the rows of `effect`. Enqueuing a job with the same key locks in the same order,
 * so it neither waits for `effect` nor deadlocks with it.
 * @throws LostOwnershipError
 */
export function withOwnedJob<T>(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  effect: Effect<T>,
): Promise<T> {
  return transaction(helpers, scope, heartbeatTimeoutMs, effect, { close: lockJob });
}

/** Like {@link withOwnedJob}, but also ends the job: `effect` and `settle` commit exactly once. */
export function completeOwnedJob<T>(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  effect: Effect<T>,
  settle: Effect<unknown>,
): Promise<T> {
  return transaction(helpers, scope, heartbeatTimeoutMs, effect, { close: finish, settle });
}

/** Runs `effect` in a transaction in the job's tenant, without checking who owns the job. */
export function inTenantOfJob<T>(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  effect: Effect<T>,
): Promise<T> {
  return transaction(helpers, scope, heartbeatTimeoutMs, effect, { fenced: false });
}

/** The state of a job in the queue after an attempt. */
export interface AttemptEnd {
  attempts: number;
  max_attempts: number;
  next_attempt_at: Date;
}

/**
 * Requeues the job without consuming an attempt, and runs `settle` in the same transaction. The job waits `notBeforeMs`
 * or longer.
 * @throws LostOwnershipError
 */
export function requeueJob(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  notBeforeMs = 0,
): Promise<void> {
  return endAttempt(helpers, scope, heartbeatTimeoutMs, settle, requeue, notBeforeMs);
}

/**
 * Runs `settle` for a failed attempt before the queue records the failure. `notBeforeMs` as in {@link requeueJob}.
 * @throws LostOwnershipError
 */
export function failOwnedJob(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  notBeforeMs = 0,
): Promise<void> {
  return endAttempt(helpers, scope, heartbeatTimeoutMs, settle, postpone, notBeforeMs);
}

function endAttempt(
  helpers: Helpers,
  scope: JobScope,
  heartbeatTimeoutMs: number,
  settle: (client: pg.ClientBase, end: AttemptEnd) => Promise<unknown>,
  statement: string,
  notBeforeMs: number,
): Promise<void> {
  return transaction(helpers, scope, heartbeatTimeoutMs, async (client) => {
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
  scope: JobScope,
  heartbeatTimeoutMs: number,
  effect: Effect<T>,
  {
    close,
    settle,
    fenced = true,
  }: { close?: string; settle?: Effect<unknown>; fenced?: boolean } = {},
): Promise<T> {
  const requireOwned = async (client: pg.ClientBase, sql: string) => {
    const { rows } = await client.query<{ owned: boolean }>(sql, fence(helpers));
    if (rows[0]?.owned !== true) throw new LostOwnershipError(helpers.job.id);
  };
  return helpers.withPgClient(async (client) => {
    await client.query("begin");
    try {
      await client.query(
        `select set_config('search_path', $1, true), set_config('office.correlation_id', $2, true),
          set_config('office.source', 'job', true), set_config('application_name', $4, true),
          set_config('idle_in_transaction_session_timeout', $3, true)`,
        [
          `${pg.escapeIdentifier(scope.tenant)}, extensions, pg_temp`,
          scope.correlationId ?? "",
          String(heartbeatTimeoutMs),
          `office job ${scope.correlationId ?? helpers.job.id}`,
        ],
      );
      if (fenced) await requireOwned(client, isOwned);
      const result = await effect(client);
      if (close !== undefined) await requireOwned(client, close);
      // `settle` runs after the job's row is locked: cancelling a job and losing it lock in the same order.
      await settle?.(client);
      await client.query("commit");
      return result;
    } catch (error) {
      // On a broken connection the server rolls back, and the rollback error must not hide the first error.
      await client.query("rollback").catch(() => undefined);
      throw error;
    }
  });
}
