import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  DelegateBackoff,
  ExponentialBackoff,
  circuitBreaker,
  handleWhen,
  retry,
  wrap,
} from "cockatiel";
import type { IBackoff } from "cockatiel";
import type { Circuit } from "../../health/externalSystems.ts";
import { circuitOf } from "../../health/circuitOf.ts";
import { ErpUnavailableError } from "../erp.ts";

export interface AttemptOptions {
  /** Retries after the first try. */
  retries: number;
  /** The first delay when the ERP requests none; it grows with each retry, with jitter. */
  firstWaitMs: number;
  /** A longer requested delay is left to the caller. */
  longestWaitMs: number;
  /** Consecutive tries without a response that open the circuit. */
  failuresToOpen: number;
  /** How long the circuit stays open. */
  openMs: number;
}

export interface Attempts {
  /** Runs `attempt` until it succeeds, fails permanently or reaches the limit of retries. */
  run<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  circuit(): Circuit;
}

/** The ERP applied a rate limit. It responds, so this does not count towards opening the circuit. */
export class TooManyRequestsError extends ErpUnavailableError {}

/** Retries temporary failures, and opens a circuit breaker when the ERP does not respond. */
export function makeAttempts(options: AttemptOptions): Attempts {
  const { retries, firstWaitMs, longestWaitMs, failuresToOpen, openMs } = options;
  const again = retry(
    handleWhen(
      (error) => error instanceof ErpUnavailableError && (error.retryAfterMs ?? 0) <= longestWaitMs,
    ),
    { maxAttempts: retries, backoff: delays(firstWaitMs, longestWaitMs) },
    // The timer of an aborted delay must not keep the process alive; `run` keeps it alive for the others.
  ).dangerouslyUnref();
  const breaker = circuitBreaker(
    handleWhen(
      (error) => error instanceof ErpUnavailableError && !(error instanceof TooManyRequestsError),
    ),
    { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failuresToOpen) },
  );
  let openedAt = 0;
  let lastFailure = "The ERP does not answer";
  breaker.onBreak((reason) => {
    openedAt = Date.now();
    if ("error" in reason) lastFailure = reason.error.message;
  });
  const policy = wrap(again, breaker);

  return {
    async run(attempt, signal) {
      signal?.throwIfAborted();
      const tried = policy.execute(() => {
        signal?.throwIfAborted();
        return attempt();
      });
      const alive = setInterval(() => {}, 60_000);
      try {
        return await (signal === undefined ? tried : Promise.race([tried, aborted(signal, tried)]));
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error;
        throw new ErpUnavailableError(`${lastFailure}; requests are paused for a while`, {
          cause: error,
          retryAfterMs: Math.max(0, openedAt + openMs - Date.now()),
        });
      } finally {
        clearInterval(alive);
      }
    },
    circuit: () => circuitOf(breaker),
  };
}

/** The delay requested by the ERP, or exponential backoff; both with jitter. */
function delays(firstWaitMs: number, longestWaitMs: number) {
  const own = new ExponentialBackoff<unknown>({
    initialDelay: firstWaitMs,
    maxDelay: longestWaitMs,
  });
  return new DelegateBackoff<{ attempt: number; result: unknown }, IBackoff<unknown>>(
    (context, before) => {
      const state = before === undefined ? own.next() : before.next(context);
      const requestedMs = retryAfterOf(context.result);
      const delay =
        requestedMs === null ? state.duration : requestedMs + Math.random() * firstWaitMs;
      return { delay, state };
    },
  );
}

function retryAfterOf(result: unknown): number | null {
  const error = typeof result === "object" && result !== null && "error" in result && result.error;
  return error instanceof ErpUnavailableError ? error.retryAfterMs : null;
}

/** The library's delays do not end with the signal. */
function aborted(signal: AbortSignal, until: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rejects with the reason of the abort
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const done = () => signal.removeEventListener("abort", onAbort);
    until.then(done, done);
  });
}
