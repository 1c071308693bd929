import type { Task } from "graphile-worker";
import type pg from "pg";
import type { Logger } from "pino";
import { z } from "zod";
import { tenantPattern } from "../../tenants/tenants.ts";
import type { Config } from "../../config.ts";
import type { ErpClient } from "../../gateways/erp.ts";
import type { FileStore } from "../../gateways/files.ts";
import { noteLocalDisk } from "../../health/diskFull.ts";
import type { ExternalSystems } from "../../health/externalSystems.ts";
import { JobPostponed } from "./JobProblem.ts";
import { beginRecord } from "./jobRecord.ts";
import type { JobPlace } from "./ownership.ts";
import { LostOwnershipError, completeOwnedJob, inTenantOfJob, withOwnedJob } from "./ownership.ts";
import type { JobPrincipal } from "./queryAsOwner.ts";
import { queryAsPrincipal } from "./queryAsOwner.ts";

/** What every task of one worker process is given. */
export interface TaskEnvironment {
  config: Config;
  log: Logger;
  /** Of all tasks, as the next one: what one finds out about the store holds for the others. */
  files: FileStore;
  /** Null where none is configured. */
  erp: ErpClient | null;
  /** What the tasks need outside is made known here, for the health page and the metrics. */
  systems: ExternalSystems;
  /** After this long without a sign of life the process is taken for dead, in milliseconds. */
  silenceMs: number;
}

/** One attempt at a job. */
export interface JobContext<Input> extends JobPlace {
  input: Input;
  config: Config;
  /** Each line carries the job's id, task, tenant and correlation id. */
  log: Logger;
  /** Aborted some time before the process stops: what throws then is done again by another worker, at no attempt's cost. */
  signal: AbortSignal;
  /** One step of a long job: a transaction in the tenant that commits only while the job is this worker's. May be repeated. */
  inTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** As `inTenant`, and commits also when the job has gone to another worker: for telling of what cannot be undone. */
  reportInTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** Reads in the tenant on someone's behalf: one read-only transaction, in which the database stands still, under their rights. */
  queryAsPrincipal: <T>(
    reader: JobPrincipal,
    read: (client: pg.ClientBase) => Promise<T>,
  ) => Promise<T>;
  /** The last step, after which the job is over: as `inTenant`, and committed exactly once. May be called once. */
  complete: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** As `finish`, for a job that is not worth another attempt: `reason` tells the people who started it why. */
  fail: <T>(reason: string, effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
}

/** The attempt ended before the job was finished; it is in the queue again at no attempt's cost. */
export class JobGivenBackError extends Error {
  override name = "JobGivenBackError";
}

/** A task that waits for its environment. */
export type TaskDefinition = (environment: TaskEnvironment) => Task;

const envelope = z.object({
  tenant: z.string().regex(tenantPattern),
  correlationId: z.string().max(200).nullish(),
  input: z.unknown(),
});

/**
 * Makes a task of `run`. The payload is `{tenant, correlationId, input}`, as `enqueue_job` in the database makes it; one that
 * does not fit fails and is tried again, perhaps by a worker of a newer release. A job whose tenant is gone ends quietly.
 * Throwing means to try again later; the attempts and the waits between them are the queue's. The people whose action started the
 * job are shown where it stands: a `JobProblem` tells them what went wrong, a `JobPostponed` spends no attempt.
 */
export function defineTask<Schema extends z.ZodType>(
  schema: Schema,
  run: (context: JobContext<z.output<Schema>>) => Promise<void>,
): TaskDefinition {
  return ({ config, log, silenceMs }) =>
    async (payload, helpers) => {
      const { tenant, correlationId = null, input } = envelope.parse(payload);
      const place = { tenant, correlationId };
      const { job } = helpers;
      const jobLog = log.child({ jobId: job.id, task: job.task_identifier, tenant, correlationId });
      const signal = helpers.abortSignal;
      if (signal === undefined) throw new Error("the queue gave the job no abort signal");

      const { rowCount } = await helpers.query("select from pg_namespace where nspname = $1", [
        tenant,
      ]);
      if (rowCount === 0) {
        const nothing = async () => {};
        await completeOwnedJob(helpers, place, silenceMs, nothing, nothing);
        jobLog.info("the job's tenant is gone, nothing to do");
        return;
      }
      const record = await beginRecord(helpers, place, silenceMs);

      let finished = false;
      const end = async <T>(
        effect: (client: pg.ClientBase) => Promise<T>,
        reason?: string,
      ): Promise<T> => {
        const result = await completeOwnedJob(helpers, place, silenceMs, effect, (client) =>
          record.settle(client, reason),
        );
        finished = true;
        return result;
      };
      try {
        await run({
          ...place,
          input: schema.parse(input),
          config,
          log: jobLog,
          signal,
          queryAsPrincipal: (reader, read) => queryAsPrincipal(helpers, place, reader, read),
          inTenant: (effect) => withOwnedJob(helpers, place, silenceMs, effect),
          reportInTenant: (effect) => inTenantOfJob(helpers, place, silenceMs, effect),
          complete: (effect) => end(effect),
          fail: (reason, effect) => end(effect, reason),
        });
        // The queue would delete the job whoever has it by now: it is ended here, by its owner only.
        if (!finished) await end(async () => {});
      } catch (error) {
        if (finished || error instanceof LostOwnershipError) throw error;
        noteLocalDisk(error);
        if (signal.aborted) {
          await record.givenBack();
          throw new JobGivenBackError("the worker stops; another one does the job", {
            cause: error,
          });
        }
        if (error instanceof JobPostponed) {
          await record.givenBack(error);
          throw new JobGivenBackError(error.message, { cause: error });
        }
        // That the record cannot be written must not hide why the attempt failed; the next one, or `settle_jobs`, sets it right.
        await record.failed(error).catch((problem: unknown) => {
          jobLog.warn({ err: problem }, "the failed attempt is not on the job's record");
        });
        throw error;
      }
    };
}
