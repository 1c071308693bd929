import type { Logger } from "pino";
import type { Circuit } from "../health/externalSystems.ts";

/** One run of the product-sync workflow. */
export interface ProductSyncCall {
  /** The run's id. It is the same for each attempt, so that the workflow recognizes repeated calls. */
  runId: string;
  erpProductNumbers: readonly string[];
  /** The id of the isolated test run; null in normal use. */
  testRunId: string | null;
  requestedBy: { userId: string | null; apiTokenId: string | null };
  requestedAt: Date;
  correlationId: string | null;
}

/** Starts workflow runs. */
export interface WorkflowGateway {
  /** The state of the circuit breaker. */
  circuit(): Circuit;
  /**
   * Resolves when the workflow has accepted the run. When `signal` aborts, rejects with its reason.
   * @throws WorkflowRefusedError for a permanent rejection, WorkflowCircuitOpenError when the circuit is open,
   *   WorkflowError when a retry may succeed
   */
  start(call: ProductSyncCall, options: { signal: AbortSignal; log: Logger }): Promise<void>;
}

/** The workflow did not accept the run this time. The message is for staff. */
export class WorkflowError extends Error {
  override name = "WorkflowError";
  /** The delay that the workflow requests, in milliseconds; 0 for none. */
  readonly retryAfterMs: number;

  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** The workflow applied a rate limit. */
export class WorkflowBusyError extends WorkflowError {
  override name = "WorkflowBusyError";
}

/** The circuit is open after repeated failures; no request was sent. */
export class WorkflowCircuitOpenError extends WorkflowError {
  override name = "WorkflowCircuitOpenError";
}

/** The workflow rejected the run permanently. The message is for staff. */
export class WorkflowRefusedError extends Error {
  override name = "WorkflowRefusedError";
}
