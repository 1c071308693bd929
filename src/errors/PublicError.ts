import type { ErrorCode } from "./errorCodes.ts";

/** What `extensions` holds beside the code: `path` (the argument), `header`, `limit`, `retryAfter` and the like. */
export type ErrorDetails = Record<string, unknown>;

/** An error whose message and details callers may see. Every other error is answered `Internal error`. */
export class PublicError extends Error {
  override name = "PublicError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The request has no valid token. */
export class UnauthenticatedError extends PublicError {
  /** The value of the response's `WWW-Authenticate` (RFC 6750, section 3). */
  readonly challenge: string;

  /** @param hasToken whether the request came with a bearer token */
  constructor(hasToken: boolean) {
    super(
      "UNAUTHENTICATED",
      hasToken ? "The token is unknown or has ended" : "You are not logged in",
    );
    this.challenge = hasToken ? 'Bearer error="invalid_token"' : 'Bearer realm="office"';
  }
}

/** @param details usually `{ path }`, the place of the invalid argument */
export function badUserInput(message: string, details?: ErrorDetails): PublicError {
  return new PublicError("BAD_USER_INPUT", message, details);
}

/** Runs `action` and puts `prefix` before the paths of its errors, such as `input` for an input object. */
export function underPath<T>(prefix: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof PublicError)) throw error;
    const { path = [] } = error.details as { path?: (string | number)[] };
    throw new PublicError(error.code, error.message, {
      ...error.details,
      path: [prefix, ...path],
    });
  }
}

export function conflict(message: string, details?: ErrorDetails): PublicError {
  return new PublicError("CONFLICT", message, details);
}

export function notFound(message: string, details?: ErrorDetails): PublicError {
  return new PublicError("NOT_FOUND", message, details);
}

export function unavailable(message: string): PublicError {
  return new PublicError("UNAVAILABLE", message);
}

/** The caller lacks a permission. The message is part of the published interface. */
export function missingPermission(key: string): PublicError {
  return new PublicError("FORBIDDEN", `Missing required permission: ${key}`, {
    requiredPermission: key,
  });
}

/** An error that is not for callers; the log has its cause. */
export function internalError(): PublicError {
  return new PublicError("INTERNAL", "Internal error");
}
