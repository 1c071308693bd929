import { EventEmitter } from "node:events";
import type { WorkerEvents } from "graphile-worker";
import { parseCronItems, run } from "graphile-worker";
import type pg from "pg";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { ConfigError } from "../config.ts";
import { poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import { makeErpClient } from "../gateways/makeErpClient.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { makeRegistry } from "../metrics/makeRegistry.ts";
import { startOperationsServer } from "../metrics/operationsServer.ts";
import { makeExternalSystems } from "../health/externalSystems.ts";
import { watchPools } from "../metrics/poolMetrics.ts";
import { watchQueue } from "../metrics/queueMetrics.ts";
import { answerMarginMs } from "../postgres/limitResponseTime.ts";
import { lowerDatabasePriority } from "../postgres/lowerDatabasePriority.ts";
import { loadTracing } from "../telemetry/loadTracing.ts";
import { tracing } from "../telemetry/tracing.ts";
import type { Heartbeat } from "./queue/heartbeat.ts";
import { createHeartbeat } from "./queue/heartbeat.ts";
import { crontab, taskList, tasks } from "./tasks.ts";
import { watchJobs } from "./queue/jobMetrics.ts";
import { jobsAtHand } from "./queue/jobsAtHand.ts";
import { queueLogger } from "./queue/queueLog.ts";
import { watchSearch } from "../search/searchWatch.ts";
import type { TaskDefinition } from "./queue/task.ts";

const role = "office_worker";
// A worker that misses this many signs of life is taken for dead.
const missedBeats = 6;
// Taking jobs may fail for this long while signs of life pass, in milliseconds.
const stuckMs = 10_000;

/** A worker that takes jobs. */
export interface RunningWorker {
  /** Resolves with the reason when the worker cannot go on; the process is to exit then and to be started anew. */
  ended: Promise<Error>;
  /**
   * Takes no more jobs and waits for those that run, `config.shutdownSeconds` at most; the rest goes back to the queue at no
   * attempt's cost, and what still runs of it can commit nothing. The process is to exit then.
   */
  stop(): Promise<void>;
}

interface WorkerOptions {
  config: Config;
  log: Logger;
  /** Tasks beside the service's own; for tests. */
  extraTasks?: Readonly<Record<string, TaskDefinition>>;
}

/**
 * Starts taking jobs. Resolves when the worker has shown its first sign of life.
 * @throws ConfigError without a database; the database's error when it cannot be reached.
 */
export async function startWorker({
  config,
  log,
  extraTasks,
}: WorkerOptions): Promise<RunningWorker> {
  const url = config.database.workerUrl;
  if (url === undefined)
    throw new ConfigError(["DATABASE_WORKER_URL or DATABASE_URL must say where the jobs are"]);
  await requireSupportedVersion(url);
  const { concurrency, heartbeatMs, pollMs, statementTimeoutMs } = config.worker;
  await loadTracing(config.telemetry, "worker");
  const silenceMs = missedBeats * heartbeatMs;
  const ended = Promise.withResolvers<Error>();
  // Each job, the listener, the schedule and the look for what the search engine is to be told.
  const jobsPool = poolFor(url, role, concurrency * 2 + 3, {
    answerMs: statementTimeoutMs + answerMarginMs,
    statement_timeout: statementTimeoutMs,
  });
  jobsPool.on("connect", lowerDatabasePriority);
  const answerMs = Math.min(30_000, Math.max(5_000, 2 * heartbeatMs));
  const heartPool = poolFor(url, role, 1, {
    answerMs,
    connectionTimeoutMillis: answerMs,
  });
  // What operators look at takes no connection from the jobs, and makes no beat late.
  const operationsPool = poolFor(url, role, 1, {
    answerMs: 2_000,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 60_000,
  });
  const pools = [jobsPool, heartPool, operationsPool];
  const events: WorkerEvents = new EventEmitter();
  const heartbeat = createHeartbeat({
    pool: heartPool,
    everyMs: heartbeatMs,
    silenceMs,
    atHand: jobsAtHand(events, silenceMs),
    log,
    onDeclaredDead: () =>
      ended.resolve(new Error("this worker was taken for dead, its jobs were given to others")),
  });

  endWhenStuck(events, heartbeat, Math.min(stuckMs, silenceMs), () =>
    ended.resolve(new Error("the database answers, but the queue takes no jobs")),
  );

  const systems = makeExternalSystems();
  systems.add({
    name: "database",
    storage: "database",
    check: async () => {
      await operationsPool.query("select 1");
      return undefined;
    },
  });
  systems.add({ name: "local disk", storage: "local disk" });
  const registry = makeRegistry(systems, config.metrics.workerPort);
  const files = makeS3Files(config.files);
  const environment = { config, log, silenceMs, systems, files, erp: makeErpClient(config) };
  const list = taskList(environment, { ...tasks, ...extraTasks });
  const taskNames = Object.keys(list);
  watchPools(registry, { jobs: jobsPool });
  watchJobs(registry, events, taskNames);
  const tenant = config.database.schema;
  watchQueue({ registry, pool: operationsPool, tenant, tasks: taskNames, log });
  const started = run({
    pgPool: jobsPool,
    taskList: list,
    parsedCronItems: parseCronItems(crontab(config.database.schema)),
    concurrency,
    pollInterval: pollMs,
    logger: queueLogger(log),
    events,
    noHandleSignals: true,
    gracefulShutdownAbortTimeout: config.shutdownSeconds * 750,
    preset: {
      plugins: [registration(heartbeat)],
      // Without these a job that ends while the worker stops may stay locked.
      worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 },
    },
  });
  const runner = await started.catch(async (error: unknown) => {
    await endPools(pools);
    throw error;
  });
  const { host, workerPort: port } = config.metrics;
  const operations =
    port === null
      ? null
      : await startOperationsServer({
          ...{ process: "worker", host, port, setting: "METRICS_WORKER_PORT" },
          ...{ mayMove: !config.production, registry, systems, log },
        });
  const searchWatch = config.search.nodes === undefined ? null : watchSearch(jobsPool, tenant, log);
  if (searchWatch)
    await jobsPool
      .query(`select "${tenant}".wake_search(true)`)
      .catch((error: unknown) =>
        log.warn({ err: error }, "the search engine is not looked at now"),
      );
  let stopping = false;
  const settled = (error?: unknown) => {
    if (!stopping) ended.resolve(new Error("the queue's runner ended", { cause: error }));
  };
  runner.promise.then(() => settled(), settled);

  return {
    ended: ended.promise,
    async stop() {
      stopping = true;
      const watched = searchWatch?.stop();
      const idle = runner.stop().catch((error: unknown) => {
        log.warn({ err: error }, "the queue's runner did not stop well");
      });
      await inTime(idle, config.shutdownSeconds * 1000);
      const count = await heartbeat.leave();
      if (count > 0) log.warn({ count }, "unfinished jobs given back to the queue");
      await operations?.stop();
      await inTime(Promise.resolve(watched), 1000);
      await inTime(endPools(pools), 1000);
      await tracing()?.stop();
    },
  };
}

/**
 * The queue looks up its tasks once, and keeps a failure of that for ever: a process whose database was away at that moment
 * would live on and never take a job. Whatever the cause, such a process is of no use.
 */
function endWhenStuck(
  events: WorkerEvents,
  heartbeat: Heartbeat,
  afterMs: number,
  onStuck: () => void,
): void {
  let failingSince: number | undefined;
  const works = () => (failingSince = undefined);
  events.on("worker:getJob:empty", works);
  events.on("job:start", works);
  events.on("worker:getJob:error", () => {
    const now = performance.now();
    failingSince ??= now;
    if (now - failingSince > afterMs && heartbeat.steadyForMs() > afterMs) onStuck();
  });
}

/** Nobody takes a job before the process is known to be alive: its jobs could not be told from a dead worker's. */
function registration(heartbeat: Heartbeat): GraphileConfig.Plugin {
  return {
    name: "OfficeRegistrationPlugin",
    worker: {
      hooks: {
        startWorker: (_context, { worker }) => heartbeat.begin(worker.workerPool.id),
      },
    },
  };
}

async function inTime(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

async function endPools(pools: pg.Pool[]): Promise<void> {
  await Promise.allSettled(pools.map((pool) => pool.end()));
}
