import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { GraphQLError, Kind } from "graphql";
import type { Documents } from "../graphql/documents.ts";
import { countLookup } from "../operations/cacheCounts.ts";
import { HttpError } from "./HttpError.ts";
import { currentScope } from "./requestScope.ts";

const mediaTypes = ["application/json", "application/graphql-response+json"];

/** A GraphQL request whose parts have the right types; what else was sent in the body is left out. */
interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

/**
 * Lets pass what can be answered: POST for an answer in JSON, and with a playground also a browser's GET for it.
 * The answer's type becomes the accepted one.
 */
export function graphqlMethods(playground: boolean): RequestHandler {
  return (request, response, next) => {
    if (request.method === "POST") {
      const type = request.accepts(mediaTypes);
      if (!type)
        throw new HttpError(
          406,
          "BAD_USER_INPUT",
          "Answers are application/json: add it to the header Accept",
        );
      request.headers.accept = type;
      response.type(type);
      next();
      return;
    }
    const wantsPage = request.accepts([...mediaTypes, "text/html"]) === "text/html";
    if (playground && wantsPage && (request.method === "GET" || request.method === "HEAD")) {
      next();
      return;
    }
    response.setHeader("Allow", "POST");
    throw new HttpError(405, "BAD_USER_INPUT", "Send GraphQL operations by POST");
  };
}

/** Checks the types of a GraphQL request's parts. */
export const graphqlBody: RequestHandler = (request, _response, next) => {
  const { query, operationName, variables } = request.body as Record<string, unknown>;
  if (typeof query !== "string" || query.trim() === "")
    throw wrongPart("query", "a GraphQL document");
  if (operationName != null && typeof operationName !== "string")
    throw wrongPart("operationName", "a string");
  if (variables != null && (typeof variables !== "object" || Array.isArray(variables)))
    throw wrongPart("variables", "an object");
  request.body = { query, operationName, variables };
  next();
};

function wrongPart(name: string, wanted: string): HttpError {
  return new HttpError(400, "BAD_USER_INPUT", `${name} must be ${wanted}`, { path: [name] });
}

/** Refuses documents that cannot be executed, before anything is looked up for the request. */
export function makeDocumentGate(
  documents: Documents,
  publicError: (error: GraphQLError) => GraphQLError,
) {
  const gate: RequestHandler = (request, response, next) => {
    const { query, operationName } = request.body as GraphqlBody;
    countLookup("documents", documents.knows(query));
    const { errors, firstFields } = documents.read(query);
    response.locals.operation = operationLabel(firstFields, operationName);
    if (!errors) {
      next();
      return;
    }
    answer(response, errors);
  };

  /** Whether the operation that is asked for does nothing but clean up a test run. */
  const cleansUp = (request: Request) => {
    const { query, operationName } = request.body as GraphqlBody;
    const { document, cleanUps } = documents.read(query);
    if (!document) return false;
    const operations = document.definitions.filter(
      (node) => node.kind === Kind.OPERATION_DEFINITION,
    );
    return operations.length === 1 ? cleanUps.size === 1 : cleanUps.has(operationName ?? "");
  };

  /** Failures before execution are answered like those in it. */
  const failure: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    // What has a status is a refusal of the request as such.
    if (!(error instanceof Error) || "status" in error || response.headersSent) {
      next(error);
      return;
    }
    answer(response, [new GraphQLError(error.message, { originalError: error })]);
  };

  function answer(response: Response, errors: readonly GraphQLError[]): void {
    const shown = errors.map((error) => publicError(error).toJSON());
    // Known only now: the translation of the errors finds out.
    const outage = currentScope()?.outage ?? false;
    if (outage) response.setHeader("Retry-After", "2");
    response.status(outage ? 503 : 200).json({ errors: shown });
  }

  return { gate, cleansUp, failure };
}

/** What the metrics call an operation: its first root field, of which there are as many as the schema has. */
function operationLabel(
  firstFields: ReadonlyMap<string, string> | undefined,
  operationName: string | null | undefined,
): string {
  const only = firstFields?.size === 1 ? [...firstFields.values()][0] : undefined;
  return only ?? firstFields?.get(operationName ?? "") ?? "refused";
}
