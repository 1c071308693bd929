import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Logger } from "pino";
import { addressOf } from "./addressOf.ts";
import { type RequestScope, runWithScope } from "../context/requestScope.ts";

// Nothing that holds one of our tokens: sent here by mistake, it would stand in logs and audit rows.
const correlationPattern = /^(?!.*bo[sal]_)[A-Za-z0-9_.:/-]{1,100}$/;

/** A request's own `X-Correlation-Id` where that is harmless, otherwise a new one. */
export function correlationIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-correlation-id"];
  return typeof given === "string" && correlationPattern.test(given) ? given : randomUUID();
}

/**
 * Gives every request its correlation id (its own `X-Correlation-Id` when that is harmless), returns it as a header, and logs
 * one line when the request is done. Headers and bodies are not logged: they hold tokens.
 */
export function correlation(log: Logger): RequestHandler {
  return (request, response, next) => {
    const correlationId = correlationIdOf(request);
    response.setHeader("X-Correlation-Id", correlationId);
    const { traceId } = response.locals;
    const ids = traceId === undefined ? { correlationId } : { correlationId, traceId };
    const started = performance.now();
    response.once("close", () => {
      log.info(
        {
          ...ids,
          method: request.method,
          path: request.path,
          status: response.statusCode,
          ms: Math.round(performance.now() - started),
          ip: addressOf(request),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        "request",
      );
    });
    runWithScope(new Scope(correlationId, log, ids), next);
  };
}

/** A class: an object literal with a getter was seen to keep the whole request in memory until the next full collection (`bench/compare/garbage.ts`). */
class Scope implements RequestScope {
  correlationId: string;
  outage = false;
  inTestRun = false;
  readonly #log: Logger;
  readonly #ids: object;
  #own: Logger | undefined;

  constructor(correlationId: string, log: Logger, ids: object) {
    this.correlationId = correlationId;
    this.#log = log;
    this.#ids = ids;
  }

  // Made only for requests that have something to say: it costs more than all else here together.
  get log(): Logger {
    return (this.#own ??= this.#log.child(this.#ids));
  }
}
