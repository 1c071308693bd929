import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { z } from "zod";
import type { FileStore } from "../../gateways/files.ts";
import { FileStoreError } from "../../gateways/files.ts";
import { makePictures } from "../../gateways/pictures.ts";
import type { Pictures } from "../../gateways/pictures.ts";
import { noteLocalDisk } from "../../health/diskFull.ts";
import type { BegunExport } from "../../exports/exportFile.ts";
import { ExportProblem, exportFormats, writeExportFile } from "../../exports/exportFile.ts";
import { LostOwnershipError } from "../queue/ownership.ts";
import type { JobContext, TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

const input = z.strictObject({ jobId: z.uuid() });
type Context = JobContext<z.output<typeof input>>;

// With the queue's waits between them the last of these attempts is a minute and a half after the first.
const mostFailures = 5;
// How often the record learns of progress, and the work of its cancellation.
const progressMs = 500;
const largestInteger = 2 ** 31 - 1;

/** Nobody wants the export any more: it was cancelled or deleted. */
class UnwantedError extends Error {
  override name = "UnwantedError";
}

/**
 * Writes the file of an export, with the rights that whoever asked for it has by now. Each attempt writes a file of its own, known
 * to the ledger before its first byte, and the record names one of them in the transaction that ends the job: there is exactly
 * one file, whenever a worker dies.
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
    const { rows } = await client.query<{ begun: BegunExport | { refusal: string } | null }>(
      "select begin_export($1, $2) as begun",
      [jobId, exportFormats],
    );
    return rows[0]?.begun ?? null;
  });
  if (begun === null) {
    await leaveSlot(context);
    log.info({ exportId: jobId }, "the export is not wanted any more");
    return;
  }
  if ("refusal" in begun) {
    await leaveSlot(context);
    log.warn({ exportId: jobId, refusal: begun.refusal }, "the export was refused");
    return;
  }

  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const progress = { rows: 0, over: new AbortController() };
  const watching = watch(context, begun, progress, stop);
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
    const wanted = await leaveSlot(context, async (client) => {
      const result = await client.query<{ wanted: boolean }>(
        "select complete_export($1, $2, $3, $4, $5, $6) as wanted",
        [
          ...[jobId, begun.attempt, rows],
          ...[Math.min(size, largestInteger), notes, config.exports.keepDays],
        ],
      );
      return result.rows[0]?.wanted ?? false;
    });
    if (!wanted) await files.remove(begun.key);
    log.info({ exportId: jobId, rows, size, wanted }, "export written");
  } catch (error) {
    progress.over.abort();
    await watching;
    // The ledger remembers the file: what cannot be removed now is removed later.
    const removed = files.remove(begun.key).catch((cause: unknown) => {
      log.warn({ err: cause, exportId: jobId }, "the file of a broken attempt was not removed yet");
    });
    await Promise.race([removed, setTimeout(1_000)]);
    if (error instanceof UnwantedError) {
      await leaveSlot(context);
      log.info({ exportId: jobId, rows: progress.rows }, "the export was stopped");
      return;
    }
    if (context.signal.aborted || error instanceof LostOwnershipError) throw error;
    await noteFailure(context, begun, error);
  }
}

/** Ends the job, and has another export start in its place. */
function leaveSlot<T>(
  { complete }: Context,
  effect: (client: pg.ClientBase) => Promise<T | undefined> = () => Promise.resolve(undefined),
): Promise<T | undefined> {
  return complete(async (client) => {
    const result = await effect(client);
    await client.query("select queue_export_start()");
    return result;
  });
}

/** Tells the record how far the work is, and stops the work when nobody wants it or another worker has it. */
async function watch(
  { inTenant, log, input: { jobId } }: Context,
  { attempt }: BegunExport,
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
      if (!wanted) stop.abort(new UnwantedError());
    } catch (error) {
      if (error instanceof LostOwnershipError) stop.abort(error);
      // Progress that could not be told now is told with the next.
      else log.warn({ err: error, exportId: jobId }, "the progress of an export was not noted");
    }
    if (stop.signal.aborted) return;
  }
}

/** What went wrong, on the record: for good, or until the next attempt, which the throw asks for. */
async function noteFailure(context: Context, begun: BegunExport, error: unknown): Promise<void> {
  const { jobId } = context.input;
  const known = error instanceof ExportProblem || error instanceof FileStoreError;
  const reason = known
    ? error.message
    : noteLocalDisk(error)
      ? "The file could not be written: the disk of the worker is full"
      : "The file could not be written";
  const failures = begun.failures + 1;
  const again = !(error instanceof ExportProblem) && failures < mostFailures;
  const message = again
    ? `${reason} (it is tried again)`
    : error instanceof ExportProblem
      ? reason
      : `${reason} (given up after ${failures} attempts)`;
  const values = [jobId, begun.attempt, message, again];
  const text = "select fail_export($1, $2, $3, $4)";
  if (again) {
    await context.inTenant((client) => client.query(text, values));
    throw error;
  }
  await leaveSlot(context, (client) => client.query(text, values));
  context.log.error({ err: error, exportId: jobId }, "an export failed");
}
