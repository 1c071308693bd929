import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import type { Logger } from "pino";
import { clientAddress } from "./clientAddress.ts";
import { redactTokens } from "../auth/tokens.ts";
import { type RequestScope, runWithScope } from "../context/requestScope.ts";

// Excludes our tokens: sent here by mistake, they would be stored in logs and audit rows.
const correlationPattern = /^(?!.*bo[salc]_)[A-Za-z0-9_.:/-]{1,100}$/;

const healthPattern = /^\/(?:healthz|readyz)\/?(?:\?|$)/i;

/** The request's `X-Correlation-Id` if it is safe to log, else a new id. */
export function correlationIdOf({ headers }: IncomingMessage): string {
  const given = headers["x-correlation-id"];
  return typeof given === "string" && correlationPattern.test(given) ? given : randomUUID();
}

/**
 * Sets each request's correlation id, returns it as a header, and logs one line when the request ends. Headers and
 * bodies are not logged: they hold tokens.
 */
export function correlation(log: Logger): RequestHandler {
  return (request, response, next) => {
    const correlationId = correlationIdOf(request);
    response.setHeader("X-Correlation-Id", correlationId);
    const { traceId } = response.locals;
    const ids = traceId === undefined ? { correlationId } : { correlationId, traceId };
    const started = performance.now();
    response.once("close", () => {
      // Balancers and containers ask every few seconds.
      const isHealthy = healthPattern.test(request.originalUrl) && response.statusCode === 200;
      log[isHealthy ? "debug" : "info"](
        {
          ...ids,
          method: request.method,
          // The path of a calendar feed holds its secret.
          path: redactTokens(request.originalUrl.split("?", 1)[0] ?? ""),
          status: response.statusCode,
          ms: Math.round(performance.now() - started),
          ip: clientAddress(request),
          ...(response.writableFinished ? {} : { aborted: true }),
        },
        "request",
      );
    });
    runWithScope(new Scope(correlationId, log, ids), next);
  };
}

/**
 * A class, because an object literal with a getter kept the whole request in memory until the next full collection
 * (`bench/compare/garbage.ts`).
 */
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

  // Created on first use: a child logger costs more than everything else here together.
  get log(): Logger {
    return (this.#own ??= this.#log.child(this.#ids));
  }
}
