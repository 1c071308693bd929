import type { Logger } from "pino";
import type { Circuit } from "../health/externalSystems.ts";

/** One run that the product-sync workflow is asked to do. */
export interface ProductSyncCall {
  /** The run's id, the same at each attempt: the workflow knows by it what it has taken already. */
  runId: string;
  erpProductNumbers: readonly string[];
  /** The isolated test run that the products belong to; null in normal use. */
  testRunId: string | null;
  requestedBy: { userId: string | null; apiTokenId: string | null };
  requestedAt: Date;
  correlationId: string | null;
}

/** Calls the workflow. */
export interface WorkflowGateway {
  /** Whether calls are let through at present. */
  circuit(): Circuit;
  /**
   * Resolves when the workflow has taken the run. `signal` stops the attempt; what it throws then is the abort itself.
   * @throws WorkflowRefusedError when this call will never be taken, WorkflowRestingError when it was not made at all,
   *   WorkflowError when it may be taken later
   */
  start(call: ProductSyncCall, options: { signal: AbortSignal; log: Logger }): Promise<void>;
}

/** The workflow did not take the run this time. The message is for staff to read. */
export class WorkflowError extends Error {
  override name = "WorkflowError";
  /** For how long the workflow asks to be left alone, in milliseconds; 0 when it does not. */
  readonly retryAfterMs: number;

  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** The workflow is there and asks for fewer calls. */
export class WorkflowBusyError extends WorkflowError {
  override name = "WorkflowBusyError";
}

/** The workflow has failed so often in a row that it is not called for a while. */
export class WorkflowRestingError extends WorkflowError {
  override name = "WorkflowRestingError";
}

/** The workflow refused this call for good. The message is for staff to read. */
export class WorkflowRefusedError extends Error {
  override name = "WorkflowRefusedError";
}
