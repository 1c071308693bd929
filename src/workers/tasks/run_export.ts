import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { z } from "zod";
import type { FileStore } from "../../gateways/files.ts";
import { FileStoreError } from "../../gateways/files.ts";
import { makePictures } from "../../gateways/pictures.ts";
import type { Pictures } from "../../gateways/pictures.ts";
import { recordLocalDiskFull } from "../../health/diskFull.ts";
import type { ExportAttempt } from "../../exports/exportFile.ts";
import { ExportProblem, exportFormats, writeExportFile } from "../../exports/exportFile.ts";
import { LostOwnershipError } from "../queue/ownership.ts";
import type { JobContext, TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

const input = z.strictObject({ jobId: z.uuid() });
type Context = JobContext<z.output<typeof input>>;

// With the queue's backoff, the last of these attempts is 90 seconds after the first.
const maxAttempts = 5;
// How often progress is written and cancellation is checked.
const progressMs = 500;
const maxInteger = 2 ** 31 - 1;

/** The export was cancelled or deleted. */
class ExportCancelledError extends Error {
  override name = "ExportCancelledError";
}

/**
 * Writes the file of an export with the requester's current permissions. Each attempt writes its own file, which is in
 * the database before its first byte is stored. The transaction that ends the job selects one of them, so exactly one
 * file remains even after a crash.
 */
export const runExport: TaskDefinition = (environment) => {
  const { files } = environment;
  if (environment.config.files.endpoint !== undefined)
    environment.systems.add({
      name: "files",
      storage: "files",
      check: (signal) => files.check(signal),
      circuit: () => files.circuit(),
    });
  const pictures = makePictures(environment.config.exports.images);
  return defineTask(input, (context) => run(context, files, pictures))(environment);
};

async function run(context: Context, files: FileStore, pictures: Pictures): Promise<void> {
  const { inTenant, log, config } = context;
  const { jobId } = context.input;
  const begun = await inTenant(async (client) => {
    const { rows } = await client.query<{ begun: ExportAttempt | { refusal: string } | null }>(
      "select begin_export($1, $2) as begun",
      // Workers of an older release do not name lists, whose parameters they would leave out.
      [jobId, [...exportFormats, "list"]],
    );
    return rows[0]?.begun ?? null;
  });
  if (begun === null) {
    await endAndReleaseSlot(context);
    log.info({ exportId: jobId }, "export skipped: cancelled or deleted");
    return;
  }
  if ("refusal" in begun) {
    await endAndReleaseSlot(context);
    log.warn({ exportId: jobId, refusal: begun.refusal }, "export refused");
    return;
  }

  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const progress = { rows: 0, over: new AbortController() };
  const watching = reportProgress(context, begun, progress, stop);
  try {
    const { rows, size, notes } = await context.queryAsPrincipal(begun, (client) =>
      writeExportFile({
        exportId: jobId,
        begun,
        client,
        files,
        pictures,
        signal,
        onRow: () => progress.rows++,
      }),
    );
    progress.over.abort();
    await watching;
    const wanted = await endAndReleaseSlot(context, async (client) => {
      const result = await client.query<{ wanted: boolean }>(
        "select complete_export($1, $2, $3, $4, $5, $6, $7) as wanted",
        [
          ...[jobId, begun.attempt, rows],
          ...[Math.min(size, maxInteger), notes, config.exports.keepDays],
          JSON.stringify(begun.columns),
        ],
      );
      return result.rows[0]?.wanted ?? false;
    });
    if (!wanted) await files.remove(begun.key);
    log.info({ exportId: jobId, rows, size, wanted }, "export written");
  } catch (error) {
    progress.over.abort();
    await watching;
    // The file is recorded in the database; a failed deletion is retried later.
    const removed = files.remove(begun.key).catch((cause: unknown) => {
      log.warn({ err: cause, exportId: jobId }, "file deletion of a failed attempt postponed");
    });
    await Promise.race([removed, setTimeout(1_000)]);
    if (error instanceof ExportCancelledError) {
      await endAndReleaseSlot(context);
      log.info({ exportId: jobId, rows: progress.rows }, "export stopped");
      return;
    }
    if (context.signal.aborted || error instanceof LostOwnershipError) throw error;
    await recordFailure(context, begun, error);
  }
}

/** Ends the job and starts a waiting export in its slot. */
function endAndReleaseSlot<T>(
  { complete }: Context,
  effect: (client: pg.ClientBase) => Promise<T | undefined> = () => Promise.resolve(undefined),
): Promise<T | undefined> {
  return complete(async (client) => {
    const result = await effect(client);
    await client.query("select queue_export_start()");
    return result;
  });
}

/** Writes the progress, and aborts the work when the export is cancelled or another worker owns the job. */
async function reportProgress(
  { inTenant, log, input: { jobId } }: Context,
  { attempt }: ExportAttempt,
  progress: { rows: number; over: AbortController },
  stop: AbortController,
): Promise<void> {
  const { signal } = progress.over;
  for (;;) {
    await setTimeout(progressMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const wanted = await inTenant(async (client) => {
        const { rows } = await client.query<{ wanted: boolean }>(
          "select record_export_progress($1, $2, $3) as wanted",
          [jobId, attempt, progress.rows],
        );
        return rows[0]?.wanted ?? false;
      });
      if (!wanted) stop.abort(new ExportCancelledError());
    } catch (error) {
      if (error instanceof LostOwnershipError) stop.abort(error);
      // The next interval writes the progress again.
      else log.warn({ err: error, exportId: jobId }, "export progress update failed");
    }
    if (stop.signal.aborted) return;
  }
}

/**
 * Records the failure, either as final or until the next attempt.
 * @throws the error itself when the export is to be retried
 */
async function recordFailure(
  context: Context,
  begun: ExportAttempt,
  error: unknown,
): Promise<void> {
  const { jobId } = context.input;
  const known = error instanceof ExportProblem || error instanceof FileStoreError;
  const reason = known
    ? error.message
    : recordLocalDiskFull(error)
      ? "The file could not be written: the worker's disk is full"
      : "The file could not be written";
  const failures = begun.failures + 1;
  const again = !(error instanceof ExportProblem) && failures < maxAttempts;
  const message = again
    ? `${reason} (it will be retried)`
    : error instanceof ExportProblem
      ? reason
      : `${reason} (given up after ${failures} attempts)`;
  const values = [jobId, begun.attempt, message, again];
  const text = "select fail_export($1, $2, $3, $4)";
  if (again) {
    await context.inTenant((client) => client.query(text, values));
    throw error;
  }
  await endAndReleaseSlot(context, (client) => client.query(text, values));
  context.log.error({ err: error, exportId: jobId }, "export failed");
}
