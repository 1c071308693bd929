/** The codes in `extensions.code`: a closed list. `status` is the HTTP status of a response that is not a GraphQL result with `data`. */
export const errorCodes = {
  UNAUTHENTICATED: {
    status: 401,
    description: "The request has no valid token; log in and repeat it.",
  },
  FORBIDDEN: {
    status: 403,
    description: "The caller lacks a permission, which `requiredPermission` names.",
  },
  BAD_USER_INPUT: {
    status: 400,
    description: "A value, the document or the request is invalid; `path` names the argument.",
  },
  NOT_FOUND: {
    status: 404,
    description: "The row does not exist, or the caller may not see it.",
  },
  CONFLICT: {
    status: 409,
    description: "The change contradicts the current state, such as a name that is taken.",
  },
  SYSTEM_ROLE: {
    status: 409,
    description: "A role of the system cannot be changed or deleted.",
  },
  RATE_LIMITED: {
    status: 429,
    description: "A limit per minute is used up; repeat after `retryAfter` seconds.",
  },
  PERSISTED_QUERY_NOT_FOUND: {
    status: 404,
    description: "No persisted document has this hash.",
  },
  PERSISTED_QUERY_NOT_SUPPORTED: {
    status: 400,
    description: "The server has no persisted documents; send the document itself.",
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    description: "The `Idempotency-Key` was used for another request.",
  },
  TEST_MODE_DISABLED: {
    status: 400,
    description: "The request names a test run, and test mode is off.",
  },
  UNAVAILABLE: {
    status: 503,
    description: "The server is busy or a system that it needs is down; repeat the request later.",
  },
  INTERNAL: {
    status: 500,
    description: "An unexpected error; the log has it under `correlationId`.",
  },
} as const satisfies Record<string, { status: number; description: string }>;

/** A code that callers can act on. */
export type ErrorCode = keyof typeof errorCodes;

/** Whether a text is one of the codes. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}
