/** The codes of `extensions.code` that callers can act on. */
export type ErrorCode =
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "BAD_USER_INPUT"
  | "NOT_FOUND"
  | "CONFLICT"
  | "SYSTEM_ROLE"
  | "RATE_LIMITED"
  | "PERSISTED_QUERY_NOT_FOUND"
  | "PERSISTED_QUERY_NOT_SUPPORTED"
  | "IDEMPOTENCY_CONFLICT"
  | "TEST_MODE_DISABLED"
  | "UNAVAILABLE"
  | "INTERNAL";

/** The HTTP status of a failure, where the answer is not a GraphQL result with `data`. */
export const httpStatusOf: Record<ErrorCode, number> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  BAD_USER_INPUT: 400,
  NOT_FOUND: 404,
  CONFLICT: 409,
  SYSTEM_ROLE: 409,
  RATE_LIMITED: 429,
  PERSISTED_QUERY_NOT_FOUND: 404,
  PERSISTED_QUERY_NOT_SUPPORTED: 400,
  IDEMPOTENCY_CONFLICT: 409,
  TEST_MODE_DISABLED: 400,
  UNAVAILABLE: 503,
  INTERNAL: 500,
};

/** A failure whose message and details a caller may see. Anything else that is thrown is answered `Internal error`. */
export class PublicError extends Error {
  override name = "PublicError";
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The failure of a caller who lacks a permission; the message is part of the published interface. */
export function missingPermission(key: string): PublicError {
  return new PublicError("FORBIDDEN", `Missing required permission: ${key}`, {
    requiredPermission: key,
  });
}

/** The failure of a caller who is not known. */
export class UnauthenticatedError extends PublicError {
  /** The value of `WWW-Authenticate` in the answer (RFC 6750, section 3). */
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
