import { type ErrorCode, errorCodes } from "./errorCodes.ts";
import { type ErrorDetails, PublicError } from "./PublicError.ts";

/** An error whose HTTP status is not the usual one of its code. */
export class HttpError extends PublicError {
  override name = "HttpError";
  readonly status: number;

  constructor(status: number, code: ErrorCode, message: string, details?: ErrorDetails) {
    super(code, message, details);
    this.status = status;
  }
}

/** The HTTP status of an error. */
export function statusOf(error: PublicError): number {
  return error instanceof HttpError ? error.status : errorCodes[error.code].status;
}

/** The body of an error response, in the form of GraphQL's clients and in a plain one. */
export function errorBody({ code, message, details }: PublicError, correlationId?: string) {
  return {
    error: { ...details, code, message, correlationId },
    errors: [{ message, extensions: { ...details, code, correlationId } }],
  };
}

/** 400: the request itself is malformed. On `/graphql` the response has this status in every media type, unlike `badUserInput`. */
export function badRequest(message: string, details?: ErrorDetails): HttpError {
  return new HttpError(400, "BAD_USER_INPUT", message, details);
}

/** 413: the body is larger than the limit. */
export function tooLarge(): HttpError {
  return new HttpError(413, "BAD_USER_INPUT", "The body is larger than allowed");
}

/** 415: the body has the wrong content type or encoding. */
export function unsupportedMediaType(message: string): HttpError {
  return new HttpError(415, "BAD_USER_INPUT", message);
}
