import type { ErrorRequestHandler, Request, RequestHandler, Response } from "express";
import { GraphQLError, type GraphQLSchema, Kind, getOperationAST } from "graphql";
import { LRUCache } from "lru-cache";
import { badUserInput } from "../errors/PublicError.ts";
import {
  type VariableLimits,
  checkEnumLists,
  checkVariableSize,
} from "../graphql/checkVariables.ts";
import { acceptedEncoding } from "../graphql/compressAnswer.ts";
import type { Documents, OperationSummary } from "../graphql/documents.ts";
import { graphqlResponseType, rejectedStatus } from "../graphql/rejectedStatus.ts";
import { pathInDocument } from "../errors/inputPath.ts";
import { countLookup } from "../health/cacheCounts.ts";
import { currentScope } from "../context/requestScope.ts";
import type { makeDocumentFinder } from "./documentFinder.ts";
import { badRequest, HttpError } from "../errors/HttpError.ts";
import { type InvalidText, rejectInvalidText } from "./jsonBody.ts";

const mediaTypes = ["application/json", graphqlResponseType];

declare global {
  namespace Express {
    interface Locals {
      /**
       * A variable with text that PostgreSQL cannot store: the request is well formed, one of its values is invalid.
       */
      invalidVariable?: InvalidText;
    }
  }
}

/** A GraphQL request whose parts have the right types; other parts of the body are dropped. */
interface GraphqlBody {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
}

// Negotiated types by Accept header: clients send few different ones.
const chosenTypes = new LRUCache<string, { type: string | null }>({ max: 100 });

/** The response type that the client accepts; null when it accepts none of ours. */
function chosenType(request: Request): string | null {
  const accepted = request.headers.accept ?? "*/*";
  let chosen = chosenTypes.get(accepted);
  if (!chosen) chosenTypes.set(accepted, (chosen = { type: request.accepts(mediaTypes) || null }));
  return chosen.type;
}

/**
 * Admits POST requests that accept JSON and, with a playground, GET requests for its page. Sets the negotiated response
 * type.
 */
export function graphqlMethods(playground: boolean): RequestHandler {
  return (request, response, next) => {
    if (request.method === "POST") {
      const type = chosenType(request);
      if (type === null)
        throw new HttpError(
          406,
          "BAD_USER_INPUT",
          "Answers are application/json: add it to the header Accept",
        );
      request.headers.accept = type;
      response.setHeader("Content-Type", `${type}; charset=utf-8`);
      // Responses are specific to a caller and a moment, and some hold a new token.
      response.setHeader("Cache-Control", "no-store");
      next();
      return;
    }
    const isRead = request.method === "GET" || request.method === "HEAD";
    // A GET without Accept gets the page; one with an operation in the URL does not.
    const wantsPage =
      request.accepts(["text/html", ...mediaTypes]) === "text/html" &&
      request.query["query"] === undefined;
    if (playground && isRead && wantsPage) {
      next();
      return;
    }
    response.setHeader("Allow", "POST");
    throw new HttpError(405, "BAD_USER_INPUT", "Send GraphQL operations by POST");
  };
}

/** Leaves an invalid variable to the gate, which can name its argument; rejects invalid text elsewhere. */
export function deferInvalidVariable(fault: InvalidText, response: Response): void {
  const [part, ...path] = fault.path;
  if (part !== "variables") rejectInvalidText(fault);
  response.locals.invalidVariable = { ...fault, path };
}

/** Finds the document of a GraphQL request and checks the types of its parts. */
export function graphqlBody(find: ReturnType<typeof makeDocumentFinder>): RequestHandler {
  return (request, response, next) => {
    const body = request.body as Record<string, unknown>;
    const { operationName, variables, extensions } = body;
    // The operation's name in metrics until the gate knows it.
    response.locals.operation = "refused";
    if (!isObjectOrNone(extensions)) throw wrongPart("extensions", "an object");
    const { query, persisted } = find(body);
    if (typeof query !== "string" || query.trim() === "")
      throw wrongPart("query", "a GraphQL document");
    if (operationName != null && typeof operationName !== "string")
      throw wrongPart("operationName", "a string");
    if (!isObjectOrNone(variables)) throw wrongPart("variables", "an object");
    request.body = { query, operationName, variables };
    response.locals.persisted = persisted;
    next();
  };
}

function isObjectOrNone(value: unknown): boolean {
  return value == null || (typeof value === "object" && !Array.isArray(value));
}

function wrongPart(name: string, wanted: string): HttpError {
  return badRequest(`${name} must be ${wanted}`, { path: [name] });
}

/** Rejects documents that cannot be executed, before any look-up for the request. */
export function makeDocumentGate(
  documents: Documents,
  publicError: (error: GraphQLError) => GraphQLError,
  { schema, limits }: { schema: () => GraphQLSchema; limits: VariableLimits },
) {
  const gate: RequestHandler = (request, response, next) => {
    const { query, operationName, variables } = request.body as GraphqlBody;
    countLookup("documents", documents.knows(query));
    const { document, errors, operations } = documents.read(query);
    const operation = findOperation(operations, operationName);
    const { persisted = false } = response.locals;
    response.locals.operation = labelOf(operation, persisted);
    response.locals.cost = operation?.summary.cost ?? 0;
    // The length of a compressed response reveals information about a secret in it (BREACH).
    response.locals.encoding = operation?.summary.selectsSecret ? null : acceptedEncoding(request);
    response.locals.isPublic = operation?.summary.isPublic ?? false;
    response.locals.isPublicMutation = operation?.summary.isPublicMutation ?? false;
    const invalid = response.locals.invalidVariable;
    if (document && invalid) {
      const path = pathInDocument(document, operationName, invalid.path);
      throw badUserInput(
        invalid.message(path.join(".") || "variables"),
        path.length > 0 ? { path } : {},
      );
    }
    if (errors) {
      answer(response, errors);
      return;
    }
    if (variables) {
      const placeOf = (path: (string | number)[]) => pathInDocument(document, operationName, path);
      checkVariableSize(variables, limits, placeOf);
      const operation = getOperationAST(document, operationName);
      if (operation) checkEnumLists(schema(), operation, variables, placeOf);
    }
    next();
  };

  /** Whether the operation is only `cleanupTestRun`. */
  const cleansUp = (request: Request) => {
    const { query, operationName } = request.body as GraphqlBody;
    const { document, cleanUps } = documents.read(query);
    if (!document) return false;
    const operations = document.definitions.filter(
      (node) => node.kind === Kind.OPERATION_DEFINITION,
    );
    return operations.length === 1 ? cleanUps.size === 1 : cleanUps.has(operationName ?? "");
  };

  /** Answers errors before the execution in the same form as errors of the execution. */
  const failure: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    // Errors with a status are about the HTTP request, not its operation.
    if (!(error instanceof Error) || "status" in error || response.headersSent) {
      next(error);
      return;
    }
    answer(response, [new GraphQLError(error.message, { originalError: error })]);
  };

  function answer(response: Response, errors: readonly GraphQLError[]): void {
    const shown = errors.map((error) => publicError(error).toJSON());
    // Read after the errors are translated, which sets both.
    const { outage = false, challenge } = currentScope() ?? {};
    if (challenge !== undefined) response.setHeader("WWW-Authenticate", challenge);
    if (outage) response.setHeader("Retry-After", "2");
    const status = outage
      ? 503
      : rejectedStatus(
          response.getHeader("Content-Type"),
          shown[0]?.extensions?.["code"] as string,
        );
    response.status(status).json({ errors: shown });
  }

  return { gate, cleansUp, failure };
}

function findOperation(
  operations: ReadonlyMap<string, OperationSummary> | undefined,
  operationName: string | null | undefined,
) {
  if (!operations) return undefined;
  const [only] = operations;
  const name = operations.size === 1 && only ? only[0] : (operationName ?? "");
  const summary = operations.get(name);
  return summary && { name, summary };
}

/**
 * The operation's label in metrics: its name in a persisted document, else its first root field. Both have a bounded
 * number of values.
 */
function labelOf(operation: ReturnType<typeof findOperation>, persisted: boolean): string {
  if (!operation) return "refused";
  return persisted && operation.name !== "" ? operation.name : operation.summary.firstField;
}
