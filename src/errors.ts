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
