import { GraphQLError, Kind } from "graphql";
import { isSafeError } from "postgraphile/grafast";
import type { Logger } from "pino";
import { RowError } from "./RowError.ts";
import { PublicError, UnauthenticatedError, internalError } from "./PublicError.ts";
import { describeOutage, isDatabaseError, isMissingSchema, isOutage } from "./databaseErrors.ts";
import { currentScope } from "../context/requestScope.ts";
import type { Constraint } from "./constraints.ts";
import { fromDatabaseError } from "./fromDatabaseError.ts";
import { pathByDefinition } from "./inputPath.ts";

/** The context of the translation of an error. */
interface ErrorContext {
  constraints: ReadonlyMap<string, Constraint>;
  correlationId: string;
  log: Logger;
  /** The request runs in the schema of a test run, which can be removed meanwhile. */
  inTestRun: boolean;
  /** Called when the database was unreachable: the response becomes 503. */
  onOutage: () => void;
  /** Receives the response's `WWW-Authenticate`. */
  onChallenge: (challenge: string) => void;
}

/** Messages repeat values that were sent, which can be megabytes long. In characters. */
const maxMessageLength = 2_000;

/** Translates GraphQL errors of the current request, with its correlation id and log. */
export function makeErrorMask(options: Pick<ErrorContext, "constraints" | "log">) {
  return (error: GraphQLError): GraphQLError => {
    const scope = currentScope();
    const shown = toPublicError(error, {
      ...options,
      correlationId: scope?.correlationId ?? "",
      log: scope?.log ?? options.log,
      inTestRun: scope?.inTestRun ?? false,
      onOutage: () => {
        if (scope) scope.outage = true;
      },
      onChallenge: (challenge) => {
        if (scope) scope.challenge ??= challenge;
      },
    });
    if (scope) scope.failure ??= String(shown.extensions.code);
    return shown;
  };
}

/**
 * The error as callers may see it: message, locations, path, and `extensions` with `code` and `correlationId`. Other
 * errors are logged and answered `Internal error` with the id that finds them in the log.
 */
function toPublicError(error: GraphQLError, context: ErrorContext): GraphQLError {
  const { correlationId, log } = context;
  const root = rootCause(error);
  const cause = root instanceof RowError ? root.cause : root;
  const show = (message: string, code: string, details: Record<string, unknown> = {}) =>
    new GraphQLError(shorten(message), {
      nodes: error.nodes,
      source: error.source,
      positions: error.positions,
      path: error.path,
      extensions: { ...details, code, correlationId },
    });

  if (cause instanceof UnauthenticatedError) context.onChallenge(cause.challenge);
  if (cause instanceof PublicError) return show(cause.message, cause.code, cause.details);
  if (isOutage(cause)) {
    context.onOutage();
    const { event, fields } = describeOutage(cause);
    log.error({ ...fields, correlationId }, event);
  }
  if (context.inTestRun && isDatabaseError(cause) && isMissingSchema(cause))
    log.warn({ err: cause, correlationId }, "test run removed during request");
  const known = fromDatabaseError(cause, context);
  if (known && root instanceof RowError)
    return show(`${root.row.name}: ${known.message}`, known.code, {
      ...withPathOfField(error, known.details),
      row: root.row,
    });
  if (known) return show(known.message, known.code, withPathOfField(error, known.details));
  if (isOfRequest(cause)) {
    // The outermost error names the variable.
    const { message } = cause instanceof GraphQLError ? error : cause;
    const { path = pathOfVariable(error, message) } = error.extensions;
    return show(message, "BAD_USER_INPUT", path ? { path } : {});
  }
  log.error({ err: cause, correlationId, path: error.path }, "request failed");
  const { message, code } = internalError();
  return show(message, code);
}

/**
 * Details of a database error with the path of the argument. Their path is `["input", column]`; a field without an
 * argument `input` takes the value as the argument `column`.
 */
function withPathOfField(
  { nodes }: GraphQLError,
  details: Record<string, unknown>,
): Record<string, unknown> {
  const path: unknown = details["path"];
  const [node] = nodes ?? [];
  if (!Array.isArray(path) || path[0] !== "input" || node?.kind !== Kind.FIELD) return details;
  const sent = node.arguments ?? [];
  const takesInput = sent.length === 0 || sent.some(({ name }) => name.value === "input");
  return takesInput ? details : { ...details, path: path.slice(1) };
}

/** Whether an error is of syntax, validation or variables. Such errors contain only input of the caller. */
function isOfRequest(cause: unknown): cause is Error {
  return cause instanceof GraphQLError
    ? !isMissingValue(cause)
    : cause instanceof Error && !isDatabaseError(cause) && isSafeError(cause);
}

/** Whether the database returned null for a non-null field, as a wrong tag `@notNull` of a view causes. */
function isMissingValue({ message }: GraphQLError): boolean {
  return message.startsWith("Cannot return null for non-nullable field ");
}

function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** Shortens long values within a message. */
function shorten(message: string): string {
  const short = message.replace(/"([^"]{100})[^"]{100,}"/g, '"$1..."');
  if (short.length <= maxMessageLength) return short;
  const half = maxMessageLength / 2;
  return `${short.slice(0, half).toWellFormed()} ... ${short.slice(-half).toWellFormed()}`;
}

/** The path of an invalid variable, by the argument that takes it. */
function pathOfVariable(error: GraphQLError, message: string) {
  const path = variablePath(message);
  const [node] = error.nodes ?? [];
  return path && node?.kind === Kind.VARIABLE_DEFINITION ? pathByDefinition(node, path) : path;
}

/**
 * Reads the path from `Variable "$input" got invalid value ... at "input.title"`. For a missing or unknown field the
 * message names the field after the place.
 */
function variablePath(message: string): (string | number)[] | undefined {
  const whole = /^Variable "\$(\w+)"/.exec(message)?.[1];
  if (whole === undefined) return undefined;
  // The value that was sent comes before both matches and may contain anything.
  const field =
    /; Field "(\w+)" (?:of required type "[^"]*" was not provided|is not defined by type "[^"]*")\.[^;]*$/.exec(
      message,
    );
  const at = [...message.matchAll(/ at "([\w.[\]]+)"; /g)].at(-1)?.[1];
  const path = (at ?? whole).split(/[.[\]]+/).filter(Boolean);
  if (field?.[1] !== undefined) path.push(field[1]);
  return path.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}
