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
export const statusOf: Record<ErrorCode, number> = {
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
export class OfficeError extends Error {
  override name = "OfficeError";
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The failure of a caller who lacks a permission; the message is part of the published interface. */
export function missingPermission(key: string): OfficeError {
  return new OfficeError("FORBIDDEN", `Missing required permission: ${key}`, {
    requiredPermission: key,
  });
}

/** The failure of a caller without a valid login. */
export function notLoggedIn(): OfficeError {
  return new OfficeError("UNAUTHENTICATED", "You are not logged in");
}
