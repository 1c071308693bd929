import { AsyncResource } from "node:async_hooks";
import { ServerResponse } from "node:http";
import { BulkheadRejectedError, bulkhead } from "cockatiel";
import type { Express, RequestHandler, Response } from "express";
import { Counter, Gauge, type Registry } from "prom-client";
import { HttpError } from "../errors/HttpError.ts";

declare global {
  namespace Express {
    interface Locals {
      /** Called with the response when it ends, whether or not the client still reads it. */
      onEnd?: (answer: ServerResponse) => void;
    }
  }
}

/** The limits of one server process. */
export interface AdmissionLimits {
  /** Slots: GraphQL requests that run at the same time. */
  atOnce: number;
  /** GraphQL requests in the queue. */
  waiting: number;
  /** How long a request may stay in the queue, in milliseconds. */
  waitMs: number;
  /** A client that reads nothing of its response for this long is disconnected, in milliseconds. */
  readMs: number;
  /**
   * How long the request of a disconnected client keeps its slot, in milliseconds; longer than the statement timeout.
   */
  leftMs: number;
}

/** Bounds the requests in progress. */
export interface AdmissionControl {
  /** Returns a rejection, or undefined to admit the request. `needsSlot`: the request will call `acquire`. */
  admit: (needsSlot: boolean) => HttpError | undefined;
  acquire: RequestHandler;
}

/**
 * Bounded concurrency with a bounded queue: overflow gets 503 UNAVAILABLE with Retry-After, and so do all while the
 * head of the queue has waited for half of its time. `admit` decides on the request's head; `acquire` takes a slot when
 * the body is read, so that slow senders hold none. A slot is held until the work ends, also after the client
 * disconnects.
 */
export function admissionControl(
  registry: Registry,
  { atOnce, waiting, waitMs, ...times }: AdmissionLimits,
): AdmissionControl {
  const slots = bulkhead(atOnce, waiting);
  const refused = new Counter({
    name: "office_requests_refused_total",
    help: "Requests that were rejected because the queue was full or they waited too long",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of ["full", "waited"]) refused.inc({ reason }, 0);
  new Gauge({
    name: "office_requests",
    help: "GraphQL requests that run and that are queued",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      this.set({ state: "running" }, atOnce - slots.executionSlots);
      this.set({ state: "waiting" }, waiting - slots.queueSlots);
    },
  });

  function overloadError(reason: "full" | "waited"): HttpError {
    refused.inc({ reason });
    return new HttpError(503, "UNAVAILABLE", "The server is busy: try again in a moment");
  }

  // Queued requests, oldest first.
  const queued = new Set<{ at: number }>();
  const isFull = () => {
    if (slots.executionSlots > 0) return false;
    if (slots.queueSlots === 0) return true;
    // A new request would most likely time out in the queue: reject it now.
    const [first] = queued;
    return first !== undefined && performance.now() - first.at > waitMs / 2;
  };
  // Requests admitted in this tick, which have no slot yet. Reset on the next tick, so that slow senders do not count.
  let admitted = 0;
  return {
    admit(needsSlot) {
      if (isFull()) return overloadError("full");
      if (!needsSlot) return undefined;
      if (admitted >= slots.executionSlots + slots.queueSlots) return overloadError("full");
      if (admitted++ === 0) setImmediate(() => (admitted = 0));
      return undefined;
    },
    acquire({ app }, response, next) {
      installOnEnd(app as Express);
      if (admitted > 0) admitted--;
      if (isFull()) throw overloadError("full");
      let isOver = false;
      const entry = { at: performance.now() };
      const patience =
        slots.executionSlots > 0
          ? undefined
          : setTimeout(() => {
              isOver = true;
              queued.delete(entry);
              next(overloadError("waited"));
            }, waitMs);
      if (patience) queued.add(entry);
      // The slot is granted in the async context of the request that releases it: restore this request's correlation
      // id.
      const own = new AsyncResource("Slot");
      const work = async () => {
        clearTimeout(patience);
        queued.delete(entry);
        if (isOver || response.closed) return;
        const over = waitForEnd(response, times);
        next();
        await over;
      };
      slots
        .execute(() => own.runInAsyncScope(work))
        .catch((error: unknown) => {
          clearTimeout(patience);
          queued.delete(entry);
          next(error instanceof BulkheadRejectedError ? overloadError("full") : error);
        });
    },
  };
}

/**
 * Resolves when the response is sent. The statement of a client that disconnects runs on: a cancellation could hit the
 * next statement on that connection.
 */
function waitForEnd(
  response: Response,
  { readMs, leftMs }: Pick<AdmissionLimits, "readMs" | "leftMs">,
): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let patience: NodeJS.Timeout | undefined;
  // Neither callback closes over the response: that kept requests in memory until the next full collection.
  response.locals.onEnd = (ended) => {
    if (ended.closed) {
      clearTimeout(patience);
      resolve(undefined);
    } else ended.setTimeout(readMs);
  };
  response.once("close", function (this: Response) {
    if (this.writableEnded) resolve(undefined);
    else patience = setTimeout(resolve, leftMs, undefined).unref();
  });
  return promise;
}

/**
 * Makes every response of an app call `locals.onEnd`. Patched once on the prototype: a method on each response kept it
 * in memory until the next full collection.
 */
function installOnEnd({ response: answers }: Express): void {
  if (Object.hasOwn(answers, "end")) return;
  Object.assign(answers, {
    end(this: Response, ...given: [never, never]) {
      this.locals.onEnd?.(this);
      return ServerResponse.prototype.end.apply(this, given);
    },
  });
}
