import { AsyncResource } from "node:async_hooks";
import { ServerResponse } from "node:http";
import { BulkheadRejectedError, bulkhead } from "cockatiel";
import type { Express, RequestHandler, Response } from "express";
import { Counter, Gauge, type Registry } from "prom-client";
import { HttpError } from "../errors/HttpError.ts";

declare global {
  namespace Express {
    interface Locals {
      /** Called with the answer when it is given, be there anybody left to take it or not. */
      onEnd?: (answer: ServerResponse) => void;
    }
  }
}

/** What one server process takes on at a time. */
export interface AdmissionLimits {
  /** GraphQL requests that are worked on at once. */
  atOnce: number;
  /** Those that wait for their turn. */
  waiting: number;
  /** How long one waits, in milliseconds. */
  waitMs: number;
  /** A client that takes nothing of its answer for so long is cut off, in milliseconds. */
  readMs: number;
  /** What is done for a client that has left counts for so long at most, in milliseconds: longer than a statement may take. */
  leftMs: number;
}

/** Where requests are let in, and where they get their turns. */
export interface AdmissionControl {
  /** Why a request is refused before anything is made of it, if it is; `takesTurn` tells whether it will come for a turn. */
  admit: (takesTurn: boolean) => HttpError | undefined;
  acquire: RequestHandler;
}

/**
 * Keeps a process that is asked for more than it can do at what it can do: so many GraphQL requests are worked on, so many wait, and
 * whoever comes then, or while the first of them has waited for half of the time, is told so at once by HttpError 503 UNAVAILABLE with Retry-After, which costs next to nothing. `admit` is asked
 * when the head has come; `acquire` comes when the body is there, so that one who sends slowly keeps nobody waiting. A turn lasts until the work is done, also where the client has left.
 */
export function admissionControl(
  registry: Registry,
  { atOnce, waiting, waitMs, ...times }: AdmissionLimits,
): AdmissionControl {
  const turns = bulkhead(atOnce, waiting);
  const refused = new Counter({
    name: "office_requests_refused_total",
    help: "Requests that were refused because the process had enough to do: the queue was full, or they waited too long",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of ["full", "waited"]) refused.inc({ reason }, 0);
  new Gauge({
    name: "office_requests",
    help: "GraphQL requests that are worked on and that wait for their turn",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      this.set({ state: "running" }, atOnce - turns.executionSlots);
      this.set({ state: "waiting" }, waiting - turns.queueSlots);
    },
  });

  function tooBusy(reason: "full" | "waited"): HttpError {
    refused.inc({ reason });
    return new HttpError(503, "UNAVAILABLE", "The server is busy: try again in a moment");
  }

  // When those who wait came, the first of them first.
  const since = new Set<{ at: number }>();
  const isFull = () => {
    if (turns.executionSlots > 0) return false;
    if (turns.queueSlots === 0) return true;
    // Who would most likely wait in vain is told so now.
    const [first] = since;
    return first !== undefined && performance.now() - first.at > waitMs / 2;
  };
  // Those who were let in during this turn of the event loop, and will find the places taken that the others of them take. Who
  // sends slowly is not waited for.
  let comingIn = 0;
  return {
    admit(takesTurn) {
      if (isFull()) return tooBusy("full");
      if (!takesTurn) return undefined;
      if (comingIn >= turns.executionSlots + turns.queueSlots) return tooBusy("full");
      if (comingIn++ === 0) setImmediate(() => (comingIn = 0));
      return undefined;
    },
    acquire({ app }, response, next) {
      callOnEnd(app as Express);
      if (comingIn > 0) comingIn--;
      if (isFull()) throw tooBusy("full");
      let isOver = false;
      const entry = { at: performance.now() };
      const patience =
        turns.executionSlots > 0
          ? undefined
          : setTimeout(() => {
              isOver = true;
              since.delete(entry);
              next(tooBusy("waited"));
            }, waitMs);
      if (patience) since.add(entry);
      // A turn is given when another's answer ends: without this it would be taken under that one's correlation id.
      const own = new AsyncResource("Turn");
      const work = async () => {
        clearTimeout(patience);
        since.delete(entry);
        if (isOver || response.closed) return;
        const over = endOf(response, times);
        next();
        await over;
      };
      turns
        .execute(() => own.runInAsyncScope(work))
        .catch((error: unknown) => {
          clearTimeout(patience);
          since.delete(entry);
          next(error instanceof BulkheadRejectedError ? tooBusy("full") : error);
        });
    },
  };
}

/**
 * Resolves when an answer was given and taken. A client that leaves ends its connection, not its statement: that goes on in the
 * database, on one of the connections that everyone needs, and is not worth a cancellation that might meet the next statement
 * there. Whoever works on the answer ends it then as well.
 */
function endOf(
  response: Response,
  { readMs, leftMs }: Pick<AdmissionLimits, "readMs" | "leftMs">,
): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let patience: NodeJS.Timeout | undefined;
  // Neither function knows the answer by itself: with that, requests were seen to stay in memory until the next full collection.
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
 * Has all answers of an app call `locals.onEnd`. Done once for all of them: a method that is put on each answer keeps it, and its
 * request, in memory until the next full collection.
 */
function callOnEnd({ response: answers }: Express): void {
  if (Object.hasOwn(answers, "end")) return;
  Object.assign(answers, {
    end(this: Response, ...given: [never, never]) {
      this.locals.onEnd?.(this);
      return ServerResponse.prototype.end.apply(this, given);
    },
  });
}
