import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type SelectionSetNode,
  parse,
} from "graphql";
import { LRUCache } from "lru-cache";
import type { Config } from "../config.ts";
import { OfficeError } from "../errors.ts";
import { checkDocument } from "../graphql/measure.ts";
import { currentScope } from "./requestScope.ts";

/** What the gate found out about a document, kept so that a repeated one is not looked at again. */
interface Passed {
  cleansUp: boolean;
}

/** Characters per token that a document may have on average, whatever its literals hold. */
const charactersPerToken = 25;

/**
 * Bounds a document before anything validates or plans it. The outcome is kept for the documents seen last, refusals too.
 */
export function makeDocumentGate(schema: () => GraphQLSchema, limits: Config["limits"]) {
  const outcomes = new LRUCache<string, Passed | OfficeError>({ max: limits.planCache });

  function examine(query: string): Passed | OfficeError {
    try {
      if (query.length > limits.tokens * charactersPerToken)
        throw new OfficeError(
          "BAD_USER_INPUT",
          `The document has ${query.length} characters; at most ${limits.tokens * charactersPerToken} are allowed`,
        );
      const document = parse(query, { maxTokens: limits.tokens });
      checkDocument(document, schema(), limits);
      return { cleansUp: asksToCleanUp(document) };
    } catch (error) {
      if (error instanceof OfficeError) return error;
      if (error instanceof GraphQLError && /token/i.test(error.message))
        return new OfficeError(
          "BAD_USER_INPUT",
          `The document has more than ${limits.tokens} tokens`,
        );
      // Other syntax errors are told by the GraphQL server itself, with their place.
      if (error instanceof GraphQLError) return { cleansUp: false };
      throw error;
    }
  }

  const outcomeOf = (request: Request): Passed | OfficeError => {
    const query = (request.body as { query?: unknown } | undefined)?.query;
    if (typeof query !== "string") return { cleansUp: false };
    const known = outcomes.get(query);
    if (known) return known;
    const outcome = examine(query);
    outcomes.set(query, outcome);
    return outcome;
  };

  const gate: RequestHandler = (request, _response, next) => {
    const outcome = outcomeOf(request);
    if (outcome instanceof OfficeError) throw outcome;
    next();
  };
  const cleansUp = (request: Request) => {
    const outcome = outcomeOf(request);
    return !(outcome instanceof OfficeError) && outcome.cleansUp;
  };
  return { gate, cleansUp };
}

/** A document whose only field is `cleanupTestRun`: it must not make the area that it is to remove. */
function asksToCleanUp(document: DocumentNode): boolean {
  const names = (selectionSet: SelectionSetNode): string[] =>
    selectionSet.selections.map((node) => (node.kind === Kind.FIELD ? node.name.value : "..."));
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  return (
    operations.length === document.definitions.length &&
    operations.every((operation) =>
      names(operation.selectionSet).every((name) => name === "cleanupTestRun"),
    )
  );
}

/** Failures before execution are answered as GraphQL answers them: 200 with `errors`, since the request was well formed. */
export const graphqlFailure: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (!(error instanceof OfficeError) || response.headersSent) { next(error); return; }
  const extensions = {
    ...error.details,
    code: error.code,
    correlationId: currentScope()?.correlationId,
  };
  response.status(200).json({ errors: [{ message: error.message, extensions }] });
};
