import type { ErrorRequestHandler, Response } from "express";
import type { Logger } from "pino";
import { type ErrorCode, PublicError, UnauthenticatedError, httpStatusOf } from "./PublicError.ts";
import { FileStoreError } from "../gateways/files.ts";
import type { Constraint } from "./constraints.ts";
import { fromDatabase, outageMessage } from "./fromDatabase.ts";
import { describeOutage, isDatabaseError, isOutage } from "./databaseErrors.ts";
import { currentScope } from "../context/requestScope.ts";

/** A failure that is answered with an HTTP status instead of a GraphQL result. */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** The refusal of a body beyond the limit. */
export function tooLarge(): HttpError {
  return new HttpError(413, "BAD_USER_INPUT", "The body is larger than allowed");
}

function send(response: Response, error: HttpError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, code, details } = error;
  if (status === 503) response.setHeader("Retry-After", "2");
  if (status === 429 && typeof details.retryAfter === "number")
    response.setHeader("Retry-After", String(details.retryAfter));
  const scope = currentScope();
  const correlationId = scope?.correlationId;
  if (scope) scope.failure ??= code;
  response.status(status).setHeader("Cache-Control", "no-store").json(bodyOf(error, correlationId));
}

/** What an answer says of a failure, to clients of GraphQL and to others. */
export function bodyOf({ code, message, details }: HttpError, correlationId: string | undefined) {
  return {
    error: { ...details, code, message, correlationId },
    errors: [{ message, extensions: { ...details, code, correlationId } }],
  };
}

/** The last handler: every failure becomes JSON with a code; the unexpected is logged whole and told in no detail. */
export function errorHandler(
  log: Logger,
  constraints: ReadonlyMap<string, Constraint>,
): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    if (error instanceof UnauthenticatedError && !response.headersSent)
      response.setHeader("WWW-Authenticate", error.challenge);
    send(response, toHttpError(error, currentScope()?.log ?? log, constraints));
  };
}

function toHttpError(
  error: unknown,
  log: Logger,
  constraints: ReadonlyMap<string, Constraint>,
): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof PublicError)
    return new HttpError(httpStatusOf[error.code], error.code, error.message, error.details);
  if (isOutage(error)) {
    const { event, fields } = describeOutage(error);
    log.error(fields, event);
    return new HttpError(503, "UNAVAILABLE", outageMessage(error));
  }
  if (error instanceof FileStoreError) {
    log.error({ err: error }, "the file store does not do its part");
    return new HttpError(503, "UNAVAILABLE", `${error.message}: try again in a moment`);
  }
  const known = isDatabaseError(error) ? fromDatabase(error, constraints) : null;
  if (known)
    return new HttpError(httpStatusOf[known.code], known.code, known.message, known.details);
  const status =
    typeof error === "object" && error !== null && "status" in error ? Number(error.status) : 500;
  // What the body's reader refuses.
  if (status === 413) return tooLarge();
  if (status >= 400 && status < 500)
    return new HttpError(status, "BAD_USER_INPUT", "The request is malformed");
  log.error({ err: error }, "unexpected error");
  return new HttpError(500, "INTERNAL", "Internal error");
}
