import type pg from "pg";
import type { Logger } from "pino";

/** The heartbeat of one worker process. */
export interface Heartbeat {
  /**
   * Starts the heartbeat for this worker; further calls have no effect. Resolves after the first beat, or on `leave`.
   */
  begin(workerId: string): Promise<void>;
  /**
   * Stops the heartbeat and requeues the jobs that this worker still owns; returns their number. Throws when the
   * database is unreachable.
   */
  leave(): Promise<number>;
  /** Milliseconds since the heartbeat last recovered; 0 while the last beat failed. */
  steadyForMs(): number;
}

interface HeartbeatOptions {
  /** A separate pool, so that a beat never waits for a connection held by a job. */
  pool: pg.Pool;
  intervalMs: number;
  heartbeatTimeoutMs: number;
  /** Returns the ids of the jobs that this process runs. */
  runningJobIds: () => readonly string[];
  log: Logger;
  /**
   * Called when other workers have declared this process dead and released its jobs, after a pause or a network
   * failure.
   */
  onDeclaredDead: () => void;
}

type Pulse = "new" | "late" | "steady";
interface ReleasedJob {
  job_id: string;
  task: string;
  tenant: string | null;
  correlation_id: string | null;
}
interface LostJob extends ReleasedJob {
  worker: string;
  given_up: boolean;
}

/**
 * Tasks to run at once when a job of the key's task fails for good, so that its records do not wait for the schedule.
 */
const settleTasks: Readonly<Record<string, string>> = { run_export: "clean_exports" };

/**
 * Records this process in `office_jobs.workers`. Releases the jobs of dead workers, and jobs locked for this worker
 * whose start it never saw.
 */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { pool, intervalMs, heartbeatTimeoutMs, runningJobIds, log, onDeclaredDead } = options;
  const timeoutInterval = `${heartbeatTimeoutMs} milliseconds`;
  const known = Promise.withResolvers<undefined>();
  let workerId: string | undefined;
  let beating: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let wasKnown = false;
  let left = false;
  let failures = 0;
  let steadySince: number | undefined;

  async function beat(): Promise<void> {
    const { rows } = await pool.query<{ pulse: Pulse }>(
      "select office_jobs.beat($1, $2::interval) as pulse",
      [workerId, timeoutInterval],
    );
    const pulse = rows[0]?.pulse;
    if (failures > 0) log.info({ failures }, "heartbeat recovered");
    failures = 0;
    steadySince ??= performance.now();
    if (pulse === "new" && wasKnown) onDeclaredDead();
    wasKnown = true;
    known.resolve(undefined);
    if (pulse !== "steady") return;
    const unheard = await pool.query<ReleasedJob>(
      "select * from office_jobs.requeue_undelivered($1, $2::bigint[], $3::interval)",
      [workerId, runningJobIds(), timeoutInterval],
    );
    for (const job of unheard.rows)
      log.warn(fieldsOf(job), "job requeued: its start never reached this worker");
    const lost = await pool.query<LostJob>("select * from office_jobs.release_dead($1::interval)", [
      timeoutInterval,
    ]);
    for (const job of lost.rows) {
      const fields = { ...fieldsOf(job), worker: job.worker };
      if (job.given_up) log.error(fields, "job failed: its workers died repeatedly");
      else log.warn(fields, "job released: its worker died");
    }
    for (const { task, tenant, given_up } of lost.rows)
      if (given_up && tenant !== null && settleTasks[task] !== undefined)
        await pool.query(
          "select office_jobs.add($1, jsonb_build_object('tenant', $2::text, 'input', '{}'::jsonb), $2 || ':' || $1 || ':given_up')",
          [settleTasks[task], tenant],
        );
  }

  function next(): void {
    const startedAt = performance.now();
    beating = beat()
      .catch((error: unknown) => {
        failures += 1;
        steadySince = undefined;
        if (failures === 1) log.warn({ err: error }, "heartbeat failed");
      })
      .then(() => {
        if (left) return;
        timer = setTimeout(next, Math.max(0, intervalMs - (performance.now() - startedAt)));
      });
  }

  return {
    begin(id) {
      if (workerId === undefined) {
        workerId = id;
        next();
      }
      return known.promise;
    },
    async leave() {
      left = true;
      clearTimeout(timer);
      known.resolve(undefined);
      await beating;
      if (workerId === undefined) return 0;
      const { rows } = await pool.query<{ count: number }>(
        "select office_jobs.leave($1) as count",
        [workerId],
      );
      return rows[0]?.count ?? 0;
    },
    steadyForMs: () => (steadySince === undefined ? 0 : performance.now() - steadySince),
  };
}

function fieldsOf({ job_id: jobId, task, tenant, correlation_id: correlationId }: ReleasedJob) {
  return { jobId, task, tenant, correlationId };
}
