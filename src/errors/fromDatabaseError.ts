import type { DatabaseError } from "pg";
import { type Constraint, camelCase } from "./constraints.ts";
import { describeOutage, isDatabaseError, isMissingSchema, isOutage } from "./databaseErrors.ts";
import { type ErrorCode, isErrorCode } from "./errorCodes.ts";
import { PublicError, badUserInput, conflict, unavailable } from "./PublicError.ts";

// Translates database errors to responses. Used by both translations of errors: `toPublicError.ts` for GraphQL, and
// `errorHandler.ts` for all other routes.

interface Translation {
  constraints: ReadonlyMap<string, Constraint>;
  /** Whether the request runs in a test run, whose schema can be removed meanwhile. */
  inTestRun?: boolean;
}

/** Codes of the errors that our SQL functions raise. Their message is for callers; the detail is JSON for `extensions`. */
const raisedCodes: Record<string, ErrorCode> = {
  OF400: "BAD_USER_INPUT",
  OF401: "UNAUTHENTICATED",
  OF403: "FORBIDDEN",
  OF404: "NOT_FOUND",
  OF409: "CONFLICT",
};

const wrongTypeError = () => badUserInput("A value is not of its type or beyond its range");
/** The bounds of a range in the wrong order, also in a generated column, which PostgreSQL computes before it checks. */
const rangeOrderError = ({ routine }: DatabaseError) =>
  routine === "range_serialize" ? badUserInput("The end must not be before the start") : null;
const nulCharacterError = () => badUserInput("Text must not contain the character NUL");
const tooLongError = () => badUserInput("A value is too long");
const cancelledError = () =>
  unavailable("This took too long and was stopped: ask for less at a time");
const concurrentChangeError = () =>
  conflict("Another request changed the same rows at the same time: try again");

/** A row that a restrictive policy rejects. Only these are named; that no other policy accepts a row is a defect. */
const policyError = ({ message }: DatabaseError) => {
  const [, table] =
    /^new row violates row-level security policy ".*" for table "(.*)"$/.exec(message) ?? [];
  return table === undefined
    ? null
    : new PublicError(
        "FORBIDDEN",
        `A policy of ${table} does not allow you a row with these values`,
      );
};

/** The answer to each SQLSTATE that callers can cause. `rule` is the violated constraint, as far as the catalogue has it. */
const answersBySqlState: Record<
  string,
  (error: DatabaseError, rule?: Constraint) => PublicError | null
> = {
  // Constraints: unique or exclusion, foreign key, not null, check.
  "23505": (_error, rule) =>
    conflict(rule?.message ?? "A row with these values exists already", fieldDetails(rule)),
  "23P01": (_error, rule) =>
    conflict(rule?.message ?? "Another row conflicts with it", fieldDetails(rule)),
  "23001": (_error, rule) => stillReferenced(rule),
  "23503": (error, rule) =>
    /is still referenced/.test(error.detail ?? "") ? stillReferenced(rule) : unknownReference(rule),
  "23502": (error) => {
    const name = camelCase(error.column ?? "a field");
    return badUserInput(`${name} is required`, { path: ["input", name] });
  },
  "23514": (_error, rule) =>
    badUserInput(`${subjectOf(rule)} ${rule?.message ?? "is not allowed"}`, fieldDetails(rule)),
  "42501": policyError,
  // Values.
  "22000": rangeOrderError,
  "22003": wrongTypeError,
  "22P02": wrongTypeError,
  "22007": wrongTypeError,
  "22008": wrongTypeError,
  "22021": nulCharacterError,
  "22P05": nulCharacterError,
  "22001": tooLongError,
  "54000": tooLongError,
  // Statement or lock timeout.
  "57014": cancelledError,
  "55P03": cancelledError,
  // Serialization failure, deadlock.
  "40001": concurrentChangeError,
  "40P01": concurrentChangeError,
};

/** The answer to an outage or a database error; null for other errors and for those that are internal. */
export function fromDatabaseError(error: unknown, translation: Translation): PublicError | null {
  if (isOutage(error)) return unavailable(outageMessage(error));
  if (!isDatabaseError(error)) return null;
  if (translation.inTestRun && isMissingSchema(error))
    return conflict("The test run was cleaned up while this request ran: send it again");
  const code = error.code ?? "";
  const raised = raisedCodes[code];
  if (raised) return fromRaised(error, raised);
  const rule = translation.constraints.get(error.constraint ?? "");
  return answersBySqlState[code]?.(error, rule) ?? null;
}

/** An error that our SQL raised: its detail can name a more specific code. */
function fromRaised(error: DatabaseError, code: ErrorCode): PublicError {
  const { code: specific, ...details } = parseDetails(error.detail);
  return new PublicError(isErrorCode(specific) ? specific : code, error.message, details);
}

function parseDetails(detail: string | undefined): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(detail ?? "{}");
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function stillReferenced(rule: Constraint | undefined): PublicError {
  const message = "Other rows still refer to this one";
  return conflict(rule?.referrer ? `${message}: ${rule.referrer}` : message);
}

function unknownReference(rule: Constraint | undefined): PublicError {
  const details = fieldDetails(rule);
  const [field = "A reference"] = details.path?.slice(1) ?? [];
  return badUserInput(`${field}: there is no ${rule?.target ?? "row"} with this id`, details);
}

/** The fields of a check in front of its message. */
function subjectOf(rule: Constraint | undefined): string {
  const fields = rule?.fields ?? [];
  return fields.join(rule?.isOfDomain ? " or " : ", ") || "A value";
}

/** The argument that a constraint is about, or the fields of a constraint over several columns. */
function fieldDetails(rule: Constraint | undefined): {
  path?: ["input", string];
  fields?: readonly string[];
} {
  const [field, ...others] = rule?.fields ?? [];
  if (rule === undefined || field === undefined) return {};
  if (rule.isOfDomain && others.length > 0) return {};
  return others.length > 0 ? { fields: rule.fields } : { path: ["input", field] };
}

/** What callers read during an outage of the database. */
export function outageMessage(error: unknown): string {
  const { event } = describeOutage(error);
  return event === "database disk full"
    ? "The database has no disk space left: try again later"
    : "The database cannot be reached: try again in a moment";
}
