import type { DatabaseError } from "pg";
import { describeOutage } from "./databaseErrors.ts";
import { type ErrorCode, PublicError } from "./PublicError.ts";
import { type Constraint, camelCase } from "./constraints.ts";

/** What callers read during an outage of the database. */
export function outageMessage(error: unknown): string {
  const { event } = describeOutage(error);
  return event === "database disk full"
    ? "The database has no room left: try again later"
    : "The database cannot be reached just now: try again in a moment";
}

const raised: Record<string, ErrorCode> = {
  OF400: "BAD_USER_INPUT",
  OF401: "UNAUTHENTICATED",
  OF403: "FORBIDDEN",
  OF404: "NOT_FOUND",
  OF409: "CONFLICT",
};

/** The failure in words for the caller, or null when the error is nobody's business but ours. */
export function fromDatabase(
  error: DatabaseError,
  constraints: ReadonlyMap<string, Constraint>,
): PublicError | null {
  const code = error.code ?? "";
  const own = raised[code];
  if (own) {
    const { code: finer, ...details } = parseDetails(error.detail);
    return new PublicError((finer as ErrorCode | undefined) ?? own, error.message, details);
  }
  const rule = error.constraint ? constraints.get(error.constraint) : undefined;
  const field = rule?.fields.length === 1 ? rule.fields[0] : undefined;
  const details = field ? { path: ["input", field] } : {};
  switch (code) {
    case "23505":
      return new PublicError("CONFLICT", rule?.message ?? "Such an entry exists already", details);
    // What others refer to is to be deleted, and their foreign key says `on delete restrict`.
    case "23001":
      return new PublicError("CONFLICT", "Other entries still use this one");
    case "23503":
      return /is still referenced/.test(error.detail ?? "")
        ? new PublicError("CONFLICT", "Other entries still use this one")
        : new PublicError(
            "BAD_USER_INPUT",
            `${field ?? "A reference"}: there is no ${rule?.target ?? "such thing"} with this id`,
            details,
          );
    case "23502": {
      const name = camelCase(error.column ?? "a field");
      return new PublicError("BAD_USER_INPUT", `${name} is required`, { path: ["input", name] });
    }
    case "23514":
      return new PublicError(
        "BAD_USER_INPUT",
        `${rule?.fields.join(", ") ?? "A value"} ${rule?.message ?? "is not allowed"}`,
        details,
      );
    case "22003":
    case "22P02":
    case "22007":
    case "22008":
      return new PublicError("BAD_USER_INPUT", "A value is not of its type or beyond its range");
    case "22021":
    case "22P05":
      return new PublicError("BAD_USER_INPUT", "Text must not contain the character NUL");
    case "22001":
    case "54000":
      return new PublicError("BAD_USER_INPUT", "A value is too long");
    // Stopped for its time, or for the time that it waited for another.
    case "57014":
    case "55P03":
      return new PublicError(
        "UNAVAILABLE",
        "This took too long and was stopped: ask for less at a time",
      );
    case "40001":
    case "40P01":
      return new PublicError("CONFLICT", "Someone else changed the same just now: try again");
    default:
      return null;
  }
}

function parseDetails(detail: string | undefined): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(detail ?? "{}");
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
