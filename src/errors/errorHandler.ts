import type { ErrorRequestHandler, Response } from "express";
import type { Logger } from "pino";
import { currentScope } from "../context/requestScope.ts";
import { FileStoreError } from "../gateways/files.ts";
import type { Constraint } from "./constraints.ts";
import { describeOutage, isOutage } from "./databaseErrors.ts";
import { fromDatabaseError } from "./fromDatabaseError.ts";
import { HttpError, errorBody, statusOf, tooLarge } from "./HttpError.ts";
import { PublicError, UnauthenticatedError, internalError, unavailable } from "./PublicError.ts";

/** The last handler of the app: answers every error with JSON and a code. Unexpected errors are logged and answered `Internal error`. */
export function errorHandler(
  log: Logger,
  constraints: ReadonlyMap<string, Constraint>,
): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    if (error instanceof UnauthenticatedError && !response.headersSent)
      response.setHeader("WWW-Authenticate", error.challenge);
    send(response, publicErrorOf(error, currentScope()?.log ?? log, constraints));
  };
}

function send(response: Response, error: PublicError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = statusOf(error);
  if (status === 503) response.setHeader("Retry-After", "2");
  if (status === 429 && typeof error.details.retryAfter === "number")
    response.setHeader("Retry-After", String(error.details.retryAfter));
  const scope = currentScope();
  if (scope) scope.failure ??= error.code;
  const body = errorBody(error, scope?.correlationId);
  response.status(status).setHeader("Cache-Control", "no-store").json(body);
}

function publicErrorOf(
  error: unknown,
  log: Logger,
  constraints: ReadonlyMap<string, Constraint>,
): PublicError {
  if (error instanceof PublicError) return error;
  if (isOutage(error)) {
    const { event, fields } = describeOutage(error);
    log.error(fields, event);
  }
  if (error instanceof FileStoreError) {
    log.error({ err: error }, "object store request failed");
    return unavailable(`${error.message}: try again in a moment`);
  }
  return fromDatabaseError(error, { constraints }) ?? fromExpress(error) ?? unexpected(error, log);
}

/** The refusals of Express and its body reader, which carry a status. */
function fromExpress(error: unknown): PublicError | null {
  if (typeof error !== "object" || error === null || !("status" in error)) return null;
  const status = Number(error.status);
  if (status === 413) return tooLarge();
  if (status < 400 || status >= 500) return null;
  const isEncoded = "type" in error && error.type === "encoding.unsupported";
  const message = isEncoded
    ? "The body's Content-Encoding is not supported here"
    : "The request is malformed";
  return new HttpError(status, "BAD_USER_INPUT", message);
}

function unexpected(error: unknown, log: Logger): PublicError {
  log.error({ err: error }, "request failed");
  return internalError();
}
