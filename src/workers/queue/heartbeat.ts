import type pg from "pg";
import type { Logger } from "pino";

/** The signs of life of one worker process. */
export interface Heartbeat {
  /** Starts the beats under this name; may be called again. Resolves when the first has arrived, or at `leave`. */
  begin(workerId: string): Promise<void>;
  /** Ends the beats and gives back the jobs that are still this worker's; returns how many. Throws when the database is away. */
  leave(): Promise<number>;
  /** For how many milliseconds every sign of life has reached the database; 0 while the last one did not. */
  steadyForMs(): number;
}

interface HeartbeatOptions {
  /** A pool of its own, so that a beat never waits for jobs. */
  pool: pg.Pool;
  everyMs: number;
  silenceMs: number;
  /** The ids of the jobs that this process is at. */
  atHand: () => readonly string[];
  log: Logger;
  /** This process was taken for dead and its jobs were given away: it woke from being frozen, or was cut off. */
  onDeclaredDead: () => void;
}

type Pulse = "new" | "late" | "steady";
interface FreedJob {
  job_id: string;
  task: string;
  tenant: string | null;
  correlation_id: string | null;
}
interface LostJob extends FreedJob {
  worker: string;
  given_up: boolean;
}

/** What ends the records of a task that was given up, by that task: done at once, and not with the next turn of the schedule. */
const settling: Readonly<Record<string, string>> = { run_export: "clean_exports" };

/**
 * Keeps `office_jobs.workers` up to date for this process, and frees the jobs of workers that have fallen silent and those that
 * this one was given without hearing of it.
 */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { pool, everyMs, silenceMs, atHand, log, onDeclaredDead } = options;
  const silence = `${silenceMs} milliseconds`;
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
      [workerId, silence],
    );
    const pulse = rows[0]?.pulse;
    if (failures > 0) log.info({ failures }, "signs of life reach the database again");
    failures = 0;
    steadySince ??= performance.now();
    if (pulse === "new" && wasKnown) onDeclaredDead();
    wasKnown = true;
    known.resolve(undefined);
    if (pulse !== "steady") return;
    const unheard = await pool.query<FreedJob>(
      "select * from office_jobs.requeue_undelivered($1, $2::bigint[], $3::interval)",
      [workerId, atHand(), silence],
    );
    for (const job of unheard.rows)
      log.warn(fieldsOf(job), "job given back: this worker never heard that it has it");
    const lost = await pool.query<LostJob>("select * from office_jobs.release_dead($1::interval)", [
      silence,
    ]);
    for (const job of lost.rows) {
      const fields = { ...fieldsOf(job), worker: job.worker };
      if (job.given_up) log.error(fields, "job given up: its workers die");
      else log.warn(fields, "job freed: its worker died");
    }
    for (const { task, tenant, given_up } of lost.rows)
      if (given_up && tenant !== null && settling[task] !== undefined)
        await pool.query(
          "select office_jobs.add($1, jsonb_build_object('tenant', $2::text, 'input', '{}'::jsonb), $2 || ':' || $1 || ':given_up')",
          [settling[task], tenant],
        );
  }

  function next(): void {
    const startedAt = performance.now();
    beating = beat()
      .catch((error: unknown) => {
        failures += 1;
        steadySince = undefined;
        if (failures === 1) log.warn({ err: error }, "a sign of life did not reach the database");
      })
      .then(() => {
        if (left) return;
        timer = setTimeout(next, Math.max(0, everyMs - (performance.now() - startedAt)));
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

function fieldsOf({ job_id: jobId, task, tenant, correlation_id: correlationId }: FreedJob) {
  return { jobId, task, tenant, correlationId };
}
