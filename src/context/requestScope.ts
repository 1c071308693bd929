import { AsyncLocalStorage } from "node:async_hooks";
import type { Logger } from "pino";

/** The cost of a request and the rest of the caller's limit; in `extensions.cost`. */
export interface CountedCost {
  /** The most objects that the operation can return, estimated from its page sizes, plus one for the request. */
  requested: number;
  /** The highest cost of one operation. */
  limit: number;
  /** The limit per minute; null for none. */
  perMinute: number | null;
  remaining: number | null;
}

/** State that accompanies a request through its asynchronous steps, for errors and logs. */
export interface RequestScope {
  correlationId: string;
  log: Logger;
  /** The database was unreachable during the request: the response is 503. */
  outage: boolean;
  /** The value of `WWW-Authenticate`, when the caller is not authenticated. */
  challenge?: string;
  /** Set once the request is counted. */
  cost?: CountedCost;
  /** The operation was rejected before its execution: the response has no `data`. */
  rejected?: boolean;
  /** The response is the stored one of an earlier request with the same `Idempotency-Key`. */
  replayed?: boolean;
  /** The code of the first error in the response. */
  failure?: string;
  /** The request runs in the schema of a test run, which can be removed meanwhile. */
  inTestRun: boolean;
}

const storage = new AsyncLocalStorage<RequestScope>();

/** Runs `work`, and everything that it starts, in a scope. */
export function runWithScope<T>(scope: RequestScope, work: () => T): T {
  return storage.run(scope, work);
}

/** The scope of the current request; undefined outside a request. */
export function currentScope(): RequestScope | undefined {
  return storage.getStore();
}
