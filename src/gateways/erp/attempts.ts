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
  /** Tries after the first one. */
  retries: number;
  /** The first wait between two tries where the ERP names none; later ones grow, with jitter. */
  firstWaitMs: number;
  /** A longer wait than this is left to the caller. */
  longestWaitMs: number;
  /** Tries without an answer, one after the other, that open the circuit. */
  failuresToOpen: number;
  /** How long it stays open. */
  openMs: number;
}

export interface Attempts {
  /** Runs `attempt` until it succeeds, fails for good, or has been tried often enough. */
  run<T>(attempt: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  circuit(): Circuit;
}

/** The ERP asks to come more slowly: it is well, so this does not count towards opening the circuit. */
export class TooManyRequestsError extends ErpUnavailableError {}

/** Tries again what may succeed on another try, and stops asking an ERP that does not answer at all. */
export function makeAttempts(options: AttemptOptions): Attempts {
  const { retries, firstWaitMs, longestWaitMs, failuresToOpen, openMs } = options;
  const again = retry(
    handleWhen(
      (error) => error instanceof ErpUnavailableError && (error.retryAfterMs ?? 0) <= longestWaitMs,
    ),
    { maxAttempts: retries, backoff: waits(firstWaitMs, longestWaitMs) },
    // A wait that was aborted must not keep the process; `run` keeps it for the others.
  ).dangerouslyUnref();
  const breaker = circuitBreaker(
    handleWhen(
      (error) => error instanceof ErpUnavailableError && !(error instanceof TooManyRequestsError),
    ),
    { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failuresToOpen) },
  );
  let openedAt = 0;
  breaker.onBreak(() => (openedAt = Date.now()));
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
        throw new ErpUnavailableError("The ERP does not answer; it is asked again in a while", {
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

/** As long as the ERP asks for, a little more for jitter; or by our own measure. */
function waits(firstWaitMs: number, longestWaitMs: number) {
  const own = new ExponentialBackoff<unknown>({
    initialDelay: firstWaitMs,
    maxDelay: longestWaitMs,
  });
  return new DelegateBackoff<{ attempt: number; result: unknown }, IBackoff<unknown>>(
    (context, before) => {
      const state = before === undefined ? own.next() : before.next(context);
      const asked = retryAfterOf(context.result);
      const delay = asked === null ? state.duration : asked + Math.random() * firstWaitMs;
      return { delay, state };
    },
  );
}

function retryAfterOf(result: unknown): number | null {
  const error = typeof result === "object" && result !== null && "error" in result && result.error;
  return error instanceof ErpUnavailableError ? error.retryAfterMs : null;
}

/** The library's waits do not end with the signal; ours do. */
function aborted(signal: AbortSignal, until: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- an abort is thrown as it was given
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const done = () => signal.removeEventListener("abort", onAbort);
    until.then(done, done);
  });
}
