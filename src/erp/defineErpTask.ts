import type { ClientBase } from "pg";
import { DatabaseError } from "pg";
import { z } from "zod";
import type { ErpCallOptions, ErpClient } from "../gateways/erp.ts";
import { ErpAnswerError, ErpAuthError, ErpUnavailableError } from "../gateways/erp.ts";
import { JobPostponed } from "../workers/queue/JobProblem.ts";
import { LostOwnershipError } from "../workers/queue/ownership.ts";
import type { JobContext, TaskDefinition } from "../workers/queue/defineTask.ts";
import { defineTask } from "../workers/queue/defineTask.ts";

// With the default settings the delays grow from 5 seconds to 5 minutes; the last attempt is ten minutes after the
// first.
const maxAttempts = 8;
const firstWaitMs = 5_000;
// A waiting run blocks all other imports, so the ERP's Retry-After is limited.
const maxRequestedDelayMs = 60 * 60 * 1000;

const input = z.strictObject({ runId: z.uuid() });

/** An import run that a worker executes. */
export interface ErpRun extends Pick<
  JobContext<z.output<typeof input>>,
  "signal" | "inTenant" | "log"
> {
  runId: string;
  kind: "IMPORT" | "RECHECK" | "DATA_RECHECK" | "ORDER";
  /** Where the last import stopped; null starts from the beginning. */
  cursor: string | null;
  customerCursor: string | null;
  timeZone: string;
  pageSize: number;
  client: ErpClient;
  /** Options for each call of the client. */
  call: ErpCallOptions;
  /** The time of the database: read before the ERP is asked, it says which stored rows are newer than the response. */
  databaseTime: () => Promise<string>;
}

interface StartedRun {
  kind: ErpRun["kind"];
  attempts: number;
  cursor: string | null;
  customer_cursor: string | null;
}

/**
 * Creates a task for an import run, whose input is `{runId}`; a run that has ended is skipped. Errors are recorded on
 * the run, which is retried a limited number of times. Each step of `work` commits its rows with its position, so a
 * retry resumes there.
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
      const startedRun = await inTenant((database) => begin(database, runId));
      if (!startedRun) {
        log.info({ runId }, "import run already ended");
        return;
      }
      try {
        await work({
          runId,
          kind: startedRun.kind,
          cursor: startedRun.cursor,
          customerCursor: startedRun.customer_cursor,
          timeZone: config.erpImport.timeZone,
          pageSize: config.erp.pageSize,
          client: client ?? noErp(),
          call: { signal, correlationId: correlationId ?? undefined },
          signal,
          inTenant,
          log,
          databaseTime: () =>
            inTenant(async (database) => {
              const { rows } = await database.query<{ at: string }>(
                "select clock_timestamp()::text as at",
              );
              return rows[0]?.at ?? "";
            }),
        });
      } catch (error) {
        if (signal.aborted || error instanceof LostOwnershipError) throw error;
        if (wasCancelled(error)) {
          log.info({ runId }, "import run cancelled");
          return;
        }
        const { reason, erpIsDown } = describeFailure(error);
        const wait = waitMs(startedRun.attempts, error, config.erp.longestWaitMs);
        const note = (text: string) => (database: ClientBase) =>
          database.query("select fail_erp_run($1, $2, $3, $4)", [runId, text, wait, erpIsDown]);
        log.error({ runId, retryInMs: wait, err: error }, "import run failed");
        if (wait === null) {
          const text = `${reason} (given up after ${startedRun.attempts} attempts)`;
          await fail(text, note(text));
          return;
        }
        await inTenant(note(reason));
        throw new JobPostponed(reason, wait, error);
      }
      await complete((database) => database.query("select finish_erp_run($1)", [runId]));
      log.info({ runId, kind: startedRun.kind }, "import run completed");
    });
    return task(environment);
  };
}

/** @throws JobPostponed while another run of the same kind is active */
async function begin(database: ClientBase, runId: string): Promise<StartedRun | undefined> {
  const { rows: waits } = await database.query<{ ms: number | null }>(
    "select erp_run_wait_ms($1) as ms",
    [runId],
  );
  const retryDelayMs = waits[0]?.ms ?? null;
  if (retryDelayMs !== null)
    throw new JobPostponed(
      "Another run of this kind is in progress; this one waits for it",
      retryDelayMs,
    );
  const { rows } = await database.query<StartedRun>("select * from begin_erp_run($1)", [runId]);
  return rows[0];
}

function noErp(): never {
  throw new ErpAuthError("No ERP is configured");
}

/** The SQL functions raise OF409 for a cancelled run and import nothing. */
function wasCancelled(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "OF409";
}

/** Returns the reason shown to staff, and whether the ERP caused the failure. */
function describeFailure(error: unknown): { reason: string; erpIsDown: boolean } {
  if (
    error instanceof ErpUnavailableError ||
    error instanceof ErpAuthError ||
    error instanceof ErpAnswerError
  )
    return { reason: error.message, erpIsDown: true };
  return { reason: "The import failed; see the log for the reason", erpIsDown: false };
}

/**
 * Returns the delay before the next attempt, or null when there is none. `longestMs` is the client's own maximum delay
 * between the tries of one call.
 */
function waitMs(attempts: number, error: unknown, longestMs: number): number | null {
  // Retrying does not fix wrong credentials; the next scheduled run tries again.
  if (attempts >= maxAttempts || error instanceof ErpAuthError) return null;
  const requestedDelayMs = error instanceof ErpUnavailableError ? (error.retryAfterMs ?? 0) : 0;
  const limitedDelayMs = Math.min(requestedDelayMs, maxRequestedDelayMs);
  const backoffMs = Math.min(firstWaitMs, longestMs) * 2 ** (attempts - 1);
  return Math.max(limitedDelayMs, Math.min(10 * longestMs, backoffMs));
}
