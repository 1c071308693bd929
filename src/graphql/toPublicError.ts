import { GraphQLError } from "graphql";
import type { Logger } from "pino";
import { OfficeError } from "../errors.ts";
import type { Constraint } from "./constraints.ts";
import { fromDatabase, isDatabaseError, isOutage } from "./databaseErrors.ts";

/** What the translation of an error needs to know of its surroundings. */
export interface ErrorSurroundings {
  constraints: ReadonlyMap<string, Constraint>;
  correlationId: string;
  log: Logger;
  /** Whether hints such as "Did you mean" may be shown: they describe the schema, which production does not. */
  showHints: boolean;
  /** Told when the database could not be reached, so that the answer becomes 503. */
  onOutage: () => void;
}

/**
 * The error as the caller may see it: message, place, path and `extensions` with `code` and `correlationId`. What is not
 * meant for callers is logged whole and answered `Internal error` with the id that finds it in the log.
 */
export function toPublicError(error: GraphQLError, surroundings: ErrorSurroundings): GraphQLError {
  const { correlationId, log, constraints } = surroundings;
  const cause = innermost(error);
  const show = (message: string, code: string, details: Record<string, unknown> = {}) =>
    new GraphQLError(message, {
      nodes: error.nodes,
      source: error.source,
      positions: error.positions,
      path: error.path,
      extensions: { ...details, code, correlationId },
    });

  if (cause instanceof OfficeError) return show(cause.message, cause.code, cause.details);
  if (isOutage(cause)) {
    surroundings.onOutage();
    log.error({ err: cause, correlationId }, "the database cannot be reached");
    return show("The database cannot be reached just now: try again in a moment", "UNAVAILABLE");
  }
  if (isDatabaseError(cause)) {
    const known = fromDatabase(cause, constraints);
    if (known) return show(known.message, known.code, known.details);
  } else if (cause instanceof GraphQLError || isRequestError(cause)) {
    // Of the request itself: syntax, validation, variables. These carry nothing but what was sent.
    const message = surroundings.showHints
      ? cause.message
      : cause.message.replace(/ Did you mean .*\?$/s, "");
    return show(message, "BAD_USER_INPUT", variablePath(message));
  }
  log.error(
    { err: cause, correlationId, path: error.path },
    "unexpected error in a GraphQL operation",
  );
  return show("Internal error", "INTERNAL");
}

function innermost(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** Grafast reports some faults of a request as its own "safe" errors. */
function isRequestError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    Object.getOwnPropertySymbols(error).some((symbol) => symbol.description === "safe")
  );
}

/** `Variable "$input" got invalid value ... at "input.title"` says where; as a path it can be put beside the form's field. */
function variablePath(message: string): { path?: string[] } {
  const at = /^Variable "\$(\w+)" got invalid value .*? at "([\w.[\]]+)"/s.exec(message)?.[2];
  const whole = /^Variable "\$(\w+)"/.exec(message)?.[1];
  const path = at ?? whole;
  return path ? { path: path.split(/[.[\]]+/).filter(Boolean) } : {};
}
