import pg from "pg";
import type { Logger } from "pino";
import { Gauge, type Registry } from "prom-client";

interface QueueMetricsOptions {
  registry: Registry;
  /** Acts as the worker; each scrape takes a connection for a moment. */
  pool: pg.Pool;
  tenant: string;
  /** Tasks without jobs are shown with zeros. */
  tasks: readonly string[];
  log: Logger;
}

interface TaskRow {
  task: string;
  waiting: number;
  running: number;
  later: number;
  dead: number;
  oldest: number;
}

const states = ["waiting", "running", "later", "dead"] as const;

/**
 * Metrics of the job queue by task, and how far derived data is behind. Every worker reports the database's totals:
 * aggregate them by max, not by sum.
 */
export function watchQueue({ registry, pool, tenant, tasks, log }: QueueMetricsOptions): void {
  const known = new Set(tasks);
  // The registry collects all gauges at the same time: they share one query.
  let refreshing: Promise<void> | undefined;
  const collect = () => (refreshing ??= refreshOnce().finally(() => (refreshing = undefined)));
  const registers = [registry];
  const up = new Gauge({
    name: "office_queue_readable",
    help: "Whether the queue could be looked at: 1, or 0",
    registers,
    collect,
  });
  const jobs = new Gauge({
    name: "office_queue_jobs",
    help: "Jobs by task: due and waiting, running, for later, and given up",
    labelNames: ["task", "state"],
    registers,
    collect,
  });
  const oldest = new Gauge({
    name: "office_queue_oldest_seconds",
    help: "How long the job that waits longest has been due, by task",
    labelNames: ["task"],
    registers,
    collect,
  });
  const lags = new Gauge({
    name: "office_lag_seconds",
    help: "How long ago what follows something else was level with it",
    labelNames: ["what"],
    registers,
    collect,
  });

  async function refreshOnce(): Promise<void> {
    try {
      await read();
      up.set(1);
    } catch (error) {
      up.set(0);
      log.warn({ err: error }, "queue metrics failed");
    }
  }

  async function read(): Promise<void> {
    const found = await pool.query<TaskRow>(queueSql);
    const behind = await pool.query<{ what: string; seconds: number }>(
      `select what, seconds from ${pg.escapeIdentifier(tenant)}.operations_lags()`,
    );
    jobs.reset();
    oldest.reset();
    lags.reset();
    for (const task of tasks) {
      for (const state of states) jobs.set({ task, state }, 0);
      oldest.set({ task }, 0);
    }
    for (const row of found.rows) {
      const task = known.has(row.task) ? row.task : "other";
      for (const state of states) jobs.inc({ task, state }, row[state]);
      oldest.set({ task }, row.oldest);
    }
    for (const { what, seconds } of behind.rows) lags.set({ what }, seconds);
  }
}

const queueSql = `
  select j.task,
    count(*) filter (where j.locked_at is null and j.attempts < j.max_attempts and j.run_at <= now())::float8 as waiting,
    count(*) filter (where j.locked_at is not null)::float8 as running,
    count(*) filter (where j.locked_at is null and j.attempts < j.max_attempts and j.run_at > now())::float8 as later,
    count(*) filter (where j.locked_at is null and j.attempts >= j.max_attempts)::float8 as dead,
    coalesce(extract(epoch from now() - min(j.run_at) filter (
      where j.locked_at is null and j.attempts < j.max_attempts and j.run_at <= now())), 0)::float8 as oldest
  from office_jobs.queue j
  group by j.task`;
