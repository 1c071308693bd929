import type { ErrorRequestHandler, Response } from "express";
import type { Logger } from "pino";
import { isOutage } from "../graphql/databaseErrors.ts";
import { currentScope } from "./requestScope.ts";

/** A failure that is answered with an HTTP status instead of a GraphQL result. */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function send(response: Response, status: number, code: string, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (status === 503) response.setHeader("Retry-After", "2");
  const correlationId = currentScope()?.correlationId;
  response
    .status(status)
    .setHeader("Cache-Control", "no-store")
    .json({
      error: { code, message, correlationId },
      errors: [{ message, extensions: { code, correlationId } }],
    });
}

/** The last handler: every failure becomes JSON with a code; the unexpected is logged whole and told in no detail. */
export function errorHandler(log: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    if (error instanceof HttpError) { send(response, error.status, error.code, error.message); return; }
    if (isOutage(error)) {
      (currentScope()?.log ?? log).error({ err: error }, "the database cannot be reached");
      send(
        response,
        503,
        "UNAVAILABLE",
        "The service cannot reach its database just now: try again in a moment",
      ); return;
    }
    const status =
      typeof error === "object" && error !== null && "status" in error ? Number(error.status) : 500;
    if (status === 413)
      { send(response, 413, "BAD_USER_INPUT", "The body is larger than allowed"); return; }
    if (status >= 400 && status < 500)
      { send(response, status, "BAD_USER_INPUT", "The request is malformed"); return; }
    (currentScope()?.log ?? log).error({ err: error }, "unexpected error");
    send(response, 500, "INTERNAL", "Internal error");
  };
}
