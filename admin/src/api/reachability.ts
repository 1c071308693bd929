import { UnreachableError } from "./errors.ts";

/** Whether the server responds. `slow`: a request has waited for long, and none has failed. */
type Reachability = "reachable" | "slow" | "away";
type Listener = (state: Reachability) => void;

/** How long a request waits before the page says so. */
const slowMs = 10_000;
/**
 * How long a request waits for its response, and again for the response's end. A browser has no such limit, and its few
 * connections can be lost without its notice, as by a change of the network.
 */
const limitMs = 60_000;

const listeners = new Set<Listener>();
let state: Reachability = "reachable";
let isAway = false;
/** The number of requests sent, and that number at the last failure. */
let sent = 0;
let sentAtFailure = 0;
let slowRequests = 0;

/** Calls `listener` when the server stops responding and when it responds again. Returns a function that unsubscribes. */
export function onReachability(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const currentReachability = (): Reachability => state;

function update(): void {
  const next = isAway ? "away" : slowRequests > 0 ? "slow" : "reachable";
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener(state);
}

/** A request whose response is awaited. */
interface WatchedRequest {
  /** Aborted with the caller's signal, or when the time is over. */
  signal: AbortSignal;
  /** The response has begun. */
  begin(): void;
  /** What to throw when there is no complete response: UnreachableError, or the caller's abort. */
  fail(error: unknown): unknown;
  end(): void;
}

/** Limits the time of a request, and records whether the server responds to it. */
export function watchRequest(callerSignal: AbortSignal | undefined): WatchedRequest {
  const number = ++sent;
  const controller = new AbortController();
  const stop = () => controller.abort(new DOMException("no response in time", "TimeoutError"));
  let isSlow = false;
  const slowTimer = setTimeout(() => {
    isSlow = true;
    slowRequests += 1;
    update();
  }, slowMs);
  let limitTimer = setTimeout(stop, limitMs);
  return {
    signal:
      callerSignal === undefined
        ? controller.signal
        : AbortSignal.any([callerSignal, controller.signal]),
    begin() {
      clearTimeout(limitTimer);
      limitTimer = setTimeout(stop, limitMs);
      // A response to an earlier request can arrive after the failure.
      if (number > sentAtFailure) isAway = false;
      update();
    },
    fail(error) {
      if (callerSignal?.aborted === true) return error;
      sentAtFailure = sent;
      isAway = true;
      update();
      return new UnreachableError(error);
    },
    end() {
      clearTimeout(slowTimer);
      clearTimeout(limitTimer);
      if (isSlow) slowRequests -= 1;
      update();
    },
  };
}
