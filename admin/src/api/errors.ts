/** The parts of a GraphQL error that the console uses. */
export interface ApiErrorDetail {
  message: string;
  code: string;
  /** The path of the field in the arguments, such as `["input", "name"]`. */
  path: readonly (string | number)[];
  /** The fields of a rule over several fields, such as a unique constraint. */
  fields: readonly string[];
  /** For a syntax error in a query: its position, counted from 1, and its length. */
  position: number | null;
  length: number | null;
  conflict: Conflict | null;
}

/** The latest change of the row, when another user saved it first. */
export interface Conflict {
  current: Record<string, unknown> | null;
  changedAt: string | null;
  changedBy: { name: string | null } | null;
}

/** The service responded with errors. */
export class ApiError extends Error {
  readonly errors: readonly ApiErrorDetail[];
  readonly correlationId: string | null;

  constructor(errors: readonly ApiErrorDetail[], correlationId: string | null) {
    super(errors[0]?.message ?? "The service gave no reason.");
    this.name = "ApiError";
    this.errors = errors;
    this.correlationId = correlationId;
  }

  get code(): string {
    return this.errors[0]?.code ?? "";
  }
}

/** There was no complete response: the server or the network is down. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super("The server does not answer.", { cause });
    this.name = "UnreachableError";
  }
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.code === "UNAUTHENTICATED";
}
