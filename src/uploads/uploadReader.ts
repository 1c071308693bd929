import { fileURLToPath } from "node:url";
import { BulkheadRejectedError, bulkhead } from "cockatiel";
import { Piscina } from "piscina";
import type { Logger } from "pino";
import { Counter, type Registry } from "prom-client";
import { PublicError } from "../errors/PublicError.ts";
import { currentScope } from "../context/requestScope.ts";
import type * as uploadTasks from "./uploadTasks.ts";

type Tasks = typeof uploadTasks;

/** Limits of reading uploads in one server process. */
export interface UploadLimits {
  /** Files that are read at the same time, each in a thread. */
  threads: number;
  /** Time-out of reading a file, in milliseconds. */
  timeoutMs: number;
  /** Longest wait for a thread, in milliseconds. */
  waitMs: number;
  /** Heap of a thread, in megabytes; buffers of a file and its parts are not part of it. */
  memoryMb: number;
}

/**
 * Reads uploaded files in threads, to keep the event loop free. Its functions are those of uploadTasks.ts.
 * @throws PublicError when a file exceeds a limit, or no thread was free in time
 */
export interface UploadReader extends Tasks {
  /** Ends the threads. */
  stop(): Promise<void>;
}

/** Files that wait for a thread. */
const MAX_QUEUED_FILES = 16;
/** An idle thread ends after this time, in milliseconds. */
const IDLE_TIMEOUT_MS = 60_000;

const busy = ["UNAVAILABLE", "The server reads too many files: try again in a moment"] as const;
const refusals = {
  full: busy,
  waited: busy,
  slow: ["BAD_USER_INPUT", "Reading the file takes too long: make it smaller"],
  memory: ["BAD_USER_INPUT", "Reading the file takes too much memory: make it smaller"],
  broken: ["BAD_USER_INPUT", "The file cannot be read: it is damaged"],
} as const;
type Refusal = keyof typeof refusals;

/** Creates a reader; its threads start on demand. */
export function makeUploadReader(
  { threads, timeoutMs, waitMs, memoryMb }: UploadLimits,
  { registry, log }: { registry: Registry; log: Logger },
): UploadReader {
  // The queue is here and not in the pool: the time-out of a file starts when a thread takes it.
  const turns = bulkhead(threads, MAX_QUEUED_FILES);
  const pool = new Piscina({
    filename: fileURLToPath(new URL("uploadTasks.ts", import.meta.url)),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_TIMEOUT_MS,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    // With atomics a thread blocks its event loop between tasks, and handles that a task left open are not closed.
    atomics: "disabled",
    // A thread that parses untrusted files must not see passwords.
    env: {},
  });
  // The pool replaces a thread that fails between two files.
  pool.on("error", (error) => log.error({ err: error }, "upload thread failed"));
  const refused = new Counter({
    name: "office_uploads_refused_total",
    help: "Uploaded files that were not read: no thread was free, or reading them broke a bound",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of Object.keys(refusals)) refused.inc({ reason }, 0);

  async function read<Result>(name: keyof Tasks, input: unknown): Promise<Result> {
    const late = Promise.withResolvers<never>();
    let isLate = false;
    const patience = setTimeout(() => {
      isLate = true;
      late.reject(new QueueTimeoutError());
    }, waitMs);
    let signal: AbortSignal | undefined;
    const work = async (): Promise<Result> => {
      clearTimeout(patience);
      if (isLate) throw new QueueTimeoutError();
      signal = AbortSignal.timeout(timeoutMs);
      return pool.run(input, { name, signal }) as Promise<Result>;
    };
    try {
      return await Promise.race([turns.execute(work), late.promise]);
    } catch (error) {
      const reason = reasonOf(error, signal);
      refused.inc({ reason });
      (currentScope()?.log ?? log).warn({ err: error, task: name, reason }, "upload not read");
      const [code, message] = refusals[reason];
      throw new PublicError(code, message);
    } finally {
      clearTimeout(patience);
    }
  }

  return {
    checkWorkbook: (input) => read("checkWorkbook", input),
    findAttachmentType: (input) => read("findAttachmentType", input),
    readAttachmentText: (input) => read("readAttachmentText", input),
    stop: () => pool.destroy(),
  };
}

class QueueTimeoutError extends Error {
  override name = "QueueTimeoutError";
}

function reasonOf(error: unknown, signal: AbortSignal | undefined): Refusal {
  if (error instanceof BulkheadRejectedError) return "full";
  if (error instanceof QueueTimeoutError) return "waited";
  if (signal?.aborted === true) return "slow";
  const { code } = error as { code?: unknown };
  return code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "broken";
}
