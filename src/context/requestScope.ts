import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "pino";

/** What a request was counted as, and what is left; in `extensions.cost`. */
export interface CountedCost {
  /** Objects that the operation can ask for at most, estimated from its page sizes, and one for the request. */
  requested: number;
  /** The most that one operation may cost. */
  limit: number;
  /** Of the minute; null without a bound. */
  perMinute: number | null;
  remaining: number | null;
}

/** What accompanies a request through every asynchronous step, for errors and logs. */
export interface RequestScope {
  correlationId: string;
  log: Logger;
  /** Set when the database could not be reached while the request ran: the answer is 503 then. */
  outage: boolean;
  /** Set when a failure is that the caller is not known: the value of `WWW-Authenticate`. */
  challenge?: string;
  /** What the request was counted as, once it was. */
  cost?: CountedCost;
  /** Set when the operation was refused before it was executed: the answer has no `data`. */
  rejected?: boolean;
  /** Set when the answer is the kept one of an earlier request with the same `Idempotency-Key`. */
  replayed?: boolean;
  /** The code of the first failure that the answer tells of. */
  failure?: string;
  /** Set when the request works in the tenant of a test run, which can be cleaned up while it runs. */
  inTestRun: boolean;
}

const storage = new AsyncLocalStorage<RequestScope>();

/** Runs `work` and everything that it starts with the given scope. */
export function runWithScope<T>(scope: RequestScope, work: () => T): T {
  return storage.run(scope, work);
}

/** The scope of the request at hand; undefined outside of one. */
export function currentScope(): RequestScope | undefined {
  return storage.getStore();
}
