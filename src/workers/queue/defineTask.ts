import type { Task } from "graphile-worker";
import type pg from "pg";
import type { Logger } from "pino";
import { z } from "zod";
import { tenantPattern } from "../../tenants/tenants.ts";
import type { Config } from "../../config.ts";
import type { ErpClient } from "../../gateways/erp.ts";
import type { FileStore } from "../../gateways/files.ts";
import type { Mail, MailGateway } from "../../gateways/mail.ts";
import { recordLocalDiskFull } from "../../health/diskFull.ts";
import type { ExternalSystems } from "../../health/externalSystems.ts";
import { JobPostponed } from "./JobProblem.ts";
import { beginRecord } from "./jobRecord.ts";
import type { JobScope } from "./ownership.ts";
import { LostOwnershipError, completeOwnedJob, inTenantOfJob, withOwnedJob } from "./ownership.ts";
import type { JobPrincipal } from "./queryAsPrincipal.ts";
import { queryAsPrincipal } from "./queryAsPrincipal.ts";

/** The dependencies shared by all tasks of a worker process. */
export interface TaskEnvironment {
  config: Config;
  log: Logger;
  /** One instance for all tasks, so that they share its circuit breaker. */
  files: FileStore;
  /** Null when no ERP is configured. */
  erp: ErpClient | null;
  mail: MailGateway;
  /** Tasks register the external systems they use, for the health page and the metrics. */
  systems: ExternalSystems;
  /** A process whose heartbeat is older than this is declared dead, in milliseconds. */
  heartbeatTimeoutMs: number;
}

/** One attempt at a job. */
export interface JobContext<Input> extends JobScope {
  input: Input;
  config: Config;
  /**
   * Resolves when the mail server has accepted the mail. An isolated test run sends none: the mail is only logged.
   * @throws MailRefusedError for a permanent rejection, MailError for a temporary one
   */
  sendMail: (mail: Mail) => Promise<void>;
  /** A logger whose lines carry the job's id, task, tenant and correlation id. */
  log: Logger;
  /** Aborted before the process stops. Errors after abort requeue the job without consuming an attempt. */
  signal: AbortSignal;
  /** Runs one step of a long job in a transaction in the tenant, which commits only while this worker owns the job. */
  inTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** Like `inTenant`, but commits even when another worker owns the job: for recording what cannot be undone. */
  reportInTenant: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** Reads in the tenant with a principal's permissions, in one read-only transaction with a single snapshot. */
  queryAsPrincipal: <T>(
    principal: JobPrincipal,
    read: (client: pg.ClientBase) => Promise<T>,
  ) => Promise<T>;
  /** Runs the last step and ends the job in the same transaction, exactly once. May be called once. */
  complete: <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  /** Like `complete`, for a job that is not worth another attempt; `reason` is shown to the users who started it. */
  fail: <T>(reason: string, effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
}

/** The attempt ended early; the job is queued again and no attempt was consumed. */
export class JobRequeuedError extends Error {
  override name = "JobRequeuedError";
}

/** Creates a task from its dependencies. */
export type TaskDefinition = (environment: TaskEnvironment) => Task;

const envelope = z.object({
  tenant: z.string().regex(tenantPattern),
  correlationId: z.string().max(200).nullish(),
  input: z.unknown(),
});

/**
 * Creates a task from `run`. The payload is `{tenant, correlationId, input}`, as the SQL function `enqueue_job` writes
 * it. An invalid payload fails and is retried, because a worker of a newer release may accept it. A job whose tenant no
 * longer exists ends without an error. When `run` throws, the queue retries: a `JobProblem` shows its message to the
 * users who started the job, a `JobPostponed` consumes no attempt.
 */
export function defineTask<Schema extends z.ZodType>(
  schema: Schema,
  run: (context: JobContext<z.output<Schema>>) => Promise<void>,
): TaskDefinition {
  return ({ config, log, mail, heartbeatTimeoutMs }) =>
    async (payload, helpers) => {
      const { tenant, correlationId = null, input } = envelope.parse(payload);
      const scope = { tenant, correlationId };
      const { job } = helpers;
      const jobLog = log.child({ jobId: job.id, task: job.task_identifier, tenant, correlationId });
      const signal = helpers.abortSignal;
      if (signal === undefined) throw new Error("graphile-worker passed no abort signal");

      const { rowCount } = await helpers.query("select from pg_namespace where nspname = $1", [
        tenant,
      ]);
      if (rowCount === 0) {
        const nothing = async () => {};
        await completeOwnedJob(helpers, scope, heartbeatTimeoutMs, nothing, nothing);
        jobLog.info("job skipped: its tenant no longer exists");
        return;
      }
      const record = await beginRecord(helpers, scope, heartbeatTimeoutMs);

      let finished = false;
      const end = async <T>(
        effect: (client: pg.ClientBase) => Promise<T>,
        reason?: string,
      ): Promise<T> => {
        const result = await completeOwnedJob(
          helpers,
          scope,
          heartbeatTimeoutMs,
          effect,
          (client) => record.settle(client, reason),
        );
        finished = true;
        return result;
      };
      try {
        await run({
          ...scope,
          input: schema.parse(input),
          config,
          sendMail: async (letter) => {
            if (tenant === config.database.schema) await mail.send(letter, { signal, log: jobLog });
            else jobLog.info({ mail: letter.subjectId }, "mail skipped: isolated test run");
          },
          log: jobLog,
          signal,
          queryAsPrincipal: (principal, read) => queryAsPrincipal(helpers, scope, principal, read),
          inTenant: (effect) => withOwnedJob(helpers, scope, heartbeatTimeoutMs, effect),
          reportInTenant: (effect) => inTenantOfJob(helpers, scope, heartbeatTimeoutMs, effect),
          complete: (effect) => end(effect),
          fail: (reason, effect) => end(effect, reason),
        });
        // The queue would delete the job even when another worker owns it, so it is ended here, with the ownership
        // check.
        if (!finished) await end(async () => {});
      } catch (error) {
        if (finished || error instanceof LostOwnershipError) throw error;
        recordLocalDiskFull(error);
        if (signal.aborted) {
          await record.requeue();
          throw new JobRequeuedError("the worker is stopping; the job was requeued", {
            cause: error,
          });
        }
        if (error instanceof JobPostponed) {
          await record.requeue(error);
          throw new JobRequeuedError(error.message, { cause: error });
        }
        // A failure to write the record must not hide the first error; the next attempt or `settle_jobs` corrects the
        // record.
        await record.fail(error).catch((problem: unknown) => {
          jobLog.warn({ err: problem }, "job record update failed");
        });
        throw error;
      }
    };
}
