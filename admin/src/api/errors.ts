/** One error of a GraphQL answer, as far as the console uses it. */
export interface ApiErrorDetail {
  message: string;
  code: string;
  /** The place of the field in the arguments, such as `["input", "name"]`. */
  path: readonly (string | number)[];
  /** Where a query text is wrong: its first character and how many. */
  position: number | null;
  length: number | null;
  conflict: Conflict | null;
}

/** What stands in the database when somebody else saved first. */
export interface Conflict {
  current: Record<string, unknown> | null;
  changedAt: string | null;
  changedBy: { name: string | null } | null;
}

/** The service refused or failed. */
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

/** No answer came: the server is away, or the network is. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super("The server does not answer.", { cause });
    this.name = "UnreachableError";
  }
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof ApiError && error.code === "UNAUTHENTICATED";
}
