import { EventEmitter } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { WorkerEvents } from "graphile-worker";
import { parseCronItems, run } from "graphile-worker";
import type pg from "pg";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { ConfigError } from "../config.ts";
import { requireSchema } from "../server/startChecks.ts";
import { poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import { makeErpClient } from "../gateways/makeErpClient.ts";
import { makeMailGateway } from "../gateways/makeMailGateway.ts";
import {
  BucketOwnerError,
  type OwnBucket,
  identifyDatabase,
  ownBucket,
} from "../exports/ownBucket.ts";
import { makeS3Files } from "../gateways/s3Files.ts";
import { makeRegistry } from "../metrics/makeRegistry.ts";
import { startOperationsServer } from "../metrics/operationsServer.ts";
import { makeExternalSystems } from "../health/externalSystems.ts";
import { watchPools } from "../metrics/poolMetrics.ts";
import { watchQueue } from "../metrics/queueMetrics.ts";
import { responseMarginMs } from "../postgres/limitResponseTime.ts";
import { lowerDatabasePriority } from "../postgres/lowerDatabasePriority.ts";
import { loadTracing } from "../telemetry/loadTracing.ts";
import { tracing } from "../telemetry/tracing.ts";
import type { Heartbeat } from "./queue/heartbeat.ts";
import { createHeartbeat } from "./queue/heartbeat.ts";
import { pollChanges } from "./queue/changePoll.ts";
import { crontab, taskList, tasks } from "./tasks.ts";
import { observeJobs } from "./queue/jobMetrics.ts";
import { trackRunningJobs } from "./queue/runningJobs.ts";
import { queueLogger } from "./queue/queueLogger.ts";
import type { TaskDefinition } from "./queue/defineTask.ts";

const role = "office_worker";
// A worker is declared dead after this many missed heartbeats.
const maxMissedHeartbeats = 6;
// How long a start waits for the object store, in milliseconds.
const bucketCheckMs = 5_000;
const firstCheckAgainMs = 250;
// Taking jobs may fail for this long while the heartbeat succeeds.
const maxFailingMs = 10_000;

/** A running worker. */
export interface RunningWorker {
  /** Resolves with the reason when the worker cannot continue; the process must exit and be restarted. */
  ended: Promise<Error>;
  /**
   * Stops taking jobs and waits up to `config.shutdownSeconds` for running jobs. Unfinished jobs are requeued without
   * consuming an attempt and can no longer commit. The process must exit afterwards.
   */
  stop(): Promise<void>;
}

interface WorkerOptions {
  config: Config;
  log: Logger;
  /** Additional tasks, for tests. */
  extraTasks?: Readonly<Record<string, TaskDefinition>>;
}

/**
 * Starts taking jobs. Resolves after the first heartbeat.
 * @throws ConfigError when no database is configured; BucketOwnerError when the bucket belongs to another one; the
 * database's error when it is unreachable
 */
export async function startWorker({
  config,
  log,
  extraTasks,
}: WorkerOptions): Promise<RunningWorker> {
  const url = config.database.workerUrl;
  if (url === undefined)
    throw new ConfigError([
      "Set DATABASE_WORKER_URL or DATABASE_URL to the database with the jobs",
    ]);
  await requireSupportedVersion(url);
  const { concurrency, heartbeatMs, pollMs, changePollMs, statementTimeoutMs } = config.worker;
  await loadTracing(config.telemetry, "worker");
  const heartbeatTimeoutMs = maxMissedHeartbeats * heartbeatMs;
  const ended = Promise.withResolvers<Error>();
  // Two connections for each job, and one each for the listener, the schedule and the change poll.
  const jobsPool = poolFor(url, role, concurrency * 2 + 3, {
    responseTimeoutMs: statementTimeoutMs + responseMarginMs,
    statement_timeout: statementTimeoutMs,
  });
  jobsPool.on("acquire", lowerDatabasePriority);
  const responseTimeoutMs = Math.min(30_000, Math.max(5_000, 2 * heartbeatMs));
  const heartPool = poolFor(url, role, 1, {
    responseTimeoutMs,
    connectionTimeoutMillis: responseTimeoutMs,
  });
  // Health checks and metrics use a separate pool, so that they delay neither jobs nor heartbeats.
  const operationsPool = poolFor(url, role, 1, {
    responseTimeoutMs: 2_000,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 60_000,
  });
  const pools = [jobsPool, heartPool, operationsPool];
  const events: WorkerEvents = new EventEmitter();
  const heartbeat = createHeartbeat({
    pool: heartPool,
    intervalMs: heartbeatMs,
    heartbeatTimeoutMs,
    runningJobIds: trackRunningJobs(events, heartbeatTimeoutMs),
    log,
    onDeclaredDead: () =>
      ended.resolve(new Error("the worker was declared dead and its jobs were released")),
  });

  endWhenStuck(events, heartbeat, Math.min(maxFailingMs, heartbeatTimeoutMs), () =>
    ended.resolve(new Error("the database responds, but the queue takes no jobs")),
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
  const files = ownBucket(makeS3Files(config.files), config.files, () =>
    identifyDatabase(operationsPool),
  );
  const stopped = new AbortController();
  try {
    await requireSchema(jobsPool, config.database.schema);
    if (config.files.endpoint !== undefined)
      await watchBucket(
        files,
        { intervalMs: config.files.ownerCheckMs, signal: stopped.signal, log },
        ended.resolve,
      );
  } catch (error) {
    stopped.abort();
    await endPools(pools);
    throw error;
  }
  const mail = makeMailGateway(config);
  if (mail.check) systems.add({ name: "mail", check: mail.check });
  const environment = {
    config,
    log,
    heartbeatTimeoutMs,
    systems,
    files,
    erp: makeErpClient(config),
    mail,
  };
  const list = taskList(environment, { ...tasks, ...extraTasks });
  const taskNames = Object.keys(list);
  watchPools(registry, { jobs: jobsPool });
  observeJobs(registry, events, taskNames);
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
      plugins: [registrationPlugin(heartbeat)],
      // Batched completion may leave a job locked when it ends while the worker stops.
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
          ...{ process: "worker", host, port, setting: "METRICS_PORT + 1 =" },
          ...{ mayMove: !config.production, registry, systems, log },
        });
  const hasSearch = config.search.nodes !== undefined;
  const changePoll = pollChanges({
    pool: jobsPool,
    tenant,
    intervalMs: changePollMs,
    hasSearch,
    log,
  });
  if (hasSearch)
    await jobsPool
      .query(`select "${tenant}".queue_search_indexing(true)`)
      .catch((error: unknown) => log.warn({ err: error }, "search check not queued"));
  let stopping = false;
  const onRunnerEnd = (error?: unknown) => {
    if (!stopping) ended.resolve(new Error("queue runner ended", { cause: error }));
  };
  runner.promise.then(() => onRunnerEnd(), onRunnerEnd);

  return {
    ended: ended.promise,
    async stop() {
      stopping = true;
      stopped.abort();
      const polled = changePoll.stop();
      const idle = runner.stop().catch((error: unknown) => {
        log.warn({ err: error }, "queue runner stop failed");
      });
      await waitAtMost(idle, config.shutdownSeconds * 1000);
      const count = await heartbeat.leave();
      if (count > 0) log.warn({ count }, "unfinished jobs requeued");
      await operations?.stop();
      await waitAtMost(polled, 1000);
      await waitAtMost(endPools(pools), 1000);
      await tracing()?.stop();
    },
  };
}

/**
 * Ends a process that can never take a job. graphile-worker looks up its tasks once and caches a failure, for example
 * when the database was unreachable at that moment.
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

/** Registers the worker before it takes its first job; otherwise its jobs would look like those of a dead worker. */
function registrationPlugin(heartbeat: Heartbeat): GraphileConfig.Plugin {
  return {
    name: "OfficeRegistrationPlugin",
    worker: {
      hooks: {
        startWorker: (_context, { worker }) => heartbeat.begin(worker.workerPool.id),
      },
    },
  };
}

/**
 * A worker on a copy of the live database must take no job. A store that does not answer in time delays no start; the
 * check is repeated until the worker stops, since another database may take the bucket over.
 */
async function watchBucket(
  files: OwnBucket,
  { intervalMs, signal, log }: { intervalMs: number; signal: AbortSignal; log: Logger },
  onRefusal: (refusal: Error) => void,
): Promise<void> {
  let isReported = false;
  const check = async () => {
    try {
      await files.requireOwn();
      isReported = false;
      return true;
    } catch (error) {
      if (error instanceof BucketOwnerError) throw error;
      if (!isReported && !signal.aborted)
        log.warn({ err: error }, "owner of the bucket not checked");
      isReported = true;
      return false;
    }
  };
  const waited = AbortSignal.any([signal, AbortSignal.timeout(bucketCheckMs)]);
  const first = (async () => {
    while (!(await check()) && !waited.aborted) await setTimeout(firstCheckAgainMs);
  })();
  void first
    .then(async () => {
      while (!signal.aborted) {
        await setTimeout(intervalMs, undefined, { signal, ref: false });
        await check();
      }
    })
    .catch((error: unknown) => {
      if (!signal.aborted) onRefusal(error as Error);
    });
  await waitAtMost(first, bucketCheckMs);
}

async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const timer = new AbortController();
  const late = setTimeout(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([work, late]).finally(() => timer.abort());
}

async function endPools(pools: pg.Pool[]): Promise<void> {
  await Promise.allSettled(pools.map((pool) => pool.end()));
}
