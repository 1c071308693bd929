import type { ClientBase } from "pg";
import { DatabaseError } from "pg";
import { z } from "zod";
import type { ErpCallOptions, ErpClient } from "../gateways/erp.ts";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../gateways/erp.ts";
import { JobPostponed } from "../workers/queue/JobProblem.ts";
import { LostOwnershipError } from "../workers/queue/ownership.ts";
import type { JobContext, TaskDefinition } from "../workers/queue/task.ts";
import { defineTask } from "../workers/queue/task.ts";

// By the default settings the waits between them grow from 5 seconds to 5 minutes: the last attempt is ten minutes after the first.
const maxAttempts = 8;
const firstWaitMs = 5_000;
// All other imports wait for a run that waits: what the ERP asks for is no reason to stop them for longer.
const longestAskedMs = 60 * 60 * 1000;

const input = z.strictObject({ runId: z.uuid() });

/** A run of the import in the hands of a worker. */
export interface ErpRun extends Pick<
  JobContext<z.output<typeof input>>,
  "signal" | "inTenant" | "log"
> {
  runId: string;
  kind: "IMPORT" | "RECHECK" | "DATA_RECHECK" | "ORDER";
  /** Where the last import stopped; null for the beginning. */
  cursor: string | null;
  customerCursor: string | null;
  timeZone: string;
  pageSize: number;
  client: ErpClient;
  /** For every call of the client. */
  call: ErpCallOptions;
}

interface Begun {
  kind: ErpRun["kind"];
  attempts: number;
  cursor: string | null;
  customer_cursor: string | null;
}

/**
 * Makes a task of a run of the import, whose input is `{runId}`. A run that is cancelled or over is left alone. What goes wrong
 * stands on the run, which is tried again some time later, a bounded number of times: from where it stopped, since each step
 * of `work` commits what it has taken over together with how far it is.
 */
export function defineErpTask(work: (run: ErpRun) => Promise<void>): TaskDefinition {
  return (environment) => {
    const { erp: client } = environment;
    if (client)
      environment.systems.add({
        name: "erp",
        circuit: () => client.circuit(),
        check: async (signal) => (await client.check({ signal })).company,
      });
    const task = defineTask(input, async (job) => {
      const { runId } = job.input;
      const { config, signal, inTenant, complete, fail, log, correlationId } = job;
      const begun = await inTenant((database) => begin(database, runId));
      if (!begun) {
        log.info({ runId }, "the run is over already");
        return;
      }
      try {
        await work({
          runId,
          kind: begun.kind,
          cursor: begun.cursor,
          customerCursor: begun.customer_cursor,
          timeZone: config.erpImport.timeZone,
          pageSize: config.erp.pageSize,
          client: client ?? noErp(),
          call: { signal, correlationId: correlationId ?? undefined },
          signal,
          inTenant,
          log,
        });
      } catch (error) {
        if (signal.aborted || error instanceof LostOwnershipError) throw error;
        if (wasCancelled(error)) {
          log.info({ runId }, "the run was cancelled");
          return;
        }
        const { reason, erpIsDown } = told(error);
        const wait = waitMs(begun.attempts, error, config.erp.longestWaitMs);
        const note = (text: string) => (database: ClientBase) =>
          database.query("select fail_erp_run($1, $2, $3, $4)", [runId, text, wait, erpIsDown]);
        log.error({ runId, retryInMs: wait, err: error }, "the run of the import failed");
        if (wait === null) {
          const text = `${reason} (given up after ${begun.attempts} attempts)`;
          await fail(text, note(text));
          return;
        }
        await inTenant(note(reason));
        throw new JobPostponed(reason, wait, error);
      }
      await complete((database) => database.query("select finish_erp_run($1)", [runId]));
      log.info({ runId, kind: begun.kind }, "the run of the import is done");
    });
    return task(environment);
  };
}

/** @throws JobPostponed while another run of the same kind is at work */
async function begin(database: ClientBase, runId: string): Promise<Begun | undefined> {
  const { rows: waits } = await database.query<{ ms: number | null }>(
    "select erp_run_wait_ms($1) as ms",
    [runId],
  );
  const waitMs = waits[0]?.ms ?? null;
  if (waitMs !== null)
    throw new JobPostponed("Another run of this kind is not over yet; this one follows it", waitMs);
  const { rows } = await database.query<Begun>("select * from begin_erp_run($1)", [runId]);
  return rows[0];
}

function noErp(): never {
  throw new ErpAuthError("No ERP is configured");
}

/** The run's row says so, and nothing of the page was taken over. */
function wasCancelled(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "OF409";
}

/** What staff are told, and whether it is about the ERP. */
function told(error: unknown): { reason: string; erpIsDown: boolean } {
  if (
    error instanceof ErpUnavailableError ||
    error instanceof ErpAuthError ||
    error instanceof ErpAnswerError
  )
    return { reason: error.message, erpIsDown: true };
  return { reason: "The import failed; the log has the reason", erpIsDown: false };
}

/**
 * How long to wait for the next attempt; null when there is none. `longestMs` is what the client itself waits at most between the
 * tries of one call, each of which this follows.
 */
function waitMs(attempts: number, error: unknown, longestMs: number): number | null {
  // Wrong credentials stay wrong; the schedule asks again soon enough.
  if (attempts >= maxAttempts || error instanceof ErpAuthError) return null;
  const wanted = error instanceof ErpUnavailableError ? (error.retryAfterMs ?? 0) : 0;
  const asked = Math.min(wanted, longestAskedMs);
  const growing = Math.min(firstWaitMs, longestMs) * 2 ** (attempts - 1);
  return Math.max(asked, Math.min(10 * longestMs, growing));
}
