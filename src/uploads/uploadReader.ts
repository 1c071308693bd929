import { fileURLToPath } from "node:url";
import { BulkheadRejectedError, bulkhead } from "cockatiel";
import { Piscina } from "piscina";
import type { Logger } from "pino";
import { Counter, type Registry } from "prom-client";
import { PublicError } from "../errors/PublicError.ts";
import { currentScope } from "../context/requestScope.ts";
import type * as uploadTasks from "./uploadTasks.ts";

type Tasks = typeof uploadTasks;

/** What one server process does with uploads at a time. */
export interface UploadLimits {
  /** Files that are read at once, each by a thread. */
  threads: number;
  /** How long reading a file may take, in milliseconds. */
  timeoutMs: number;
  /** How long a file waits for a thread, in milliseconds. */
  waitMs: number;
  /** Of the objects of a thread, in megabytes; the bytes of a file and of its parts come on top. */
  memoryMb: number;
}

/**
 * Reads uploaded files in threads, so that the event loop of the server is free. Its functions are those of uploadTasks.ts; they throw
 * PublicError where a file cannot be read within the bounds, or no thread was free in time.
 */
export interface UploadReader extends Tasks {
  /** Ends the threads. */
  stop(): Promise<void>;
}

/** Files that wait for a thread. */
const QUEUE = 16;
/** A thread that nobody needed for so long ends, in milliseconds. */
const IDLE = 60_000;

const busy = ["UNAVAILABLE", "The server reads too many files: try again in a moment"] as const;
const refusals = {
  full: busy,
  waited: busy,
  slow: ["BAD_USER_INPUT", "Reading the file takes too long: make it smaller"],
  memory: ["BAD_USER_INPUT", "Reading the file takes too much memory: make it smaller"],
  broken: ["BAD_USER_INPUT", "The file cannot be read: it is damaged"],
} as const;
type Refusal = keyof typeof refusals;

/** Starts threads when they are needed. */
export function makeUploadReader(
  { threads, timeoutMs, waitMs, memoryMb }: UploadLimits,
  { registry, log }: { registry: Registry; log: Logger },
): UploadReader {
  // Queued here and not in the pool: the time of a file counts from when a thread has it.
  const turns = bulkhead(threads, QUEUE);
  const pool = new Piscina({
    filename: fileURLToPath(new URL("uploadTasks.ts", import.meta.url)),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    // With atomics a thread blocks its event loop between tasks, and what a task left open is not closed.
    atomics: "disabled",
    // What reads strangers' files needs no passwords.
    env: {},
  });
  // A thread that fails between two files is replaced with the next one.
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
      late.reject(new WaitedError());
    }, waitMs);
    let signal: AbortSignal | undefined;
    const work = async (): Promise<Result> => {
      clearTimeout(patience);
      if (isLate) throw new WaitedError();
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

class WaitedError extends Error {
  override name = "WaitedError";
}

function reasonOf(error: unknown, signal: AbortSignal | undefined): Refusal {
  if (error instanceof BulkheadRejectedError) return "full";
  if (error instanceof WaitedError) return "waited";
  if (signal?.aborted === true) return "slow";
  const { code } = error as { code?: unknown };
  return code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "broken";
}
