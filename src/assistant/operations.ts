import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
  getOperationAST,
  getVariableValues,
} from "graphql";
import pLimit from "p-limit";
import { execute, hookArgs } from "postgraphile/grafast";
import { checkGuard, guardOf } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { badUserInput } from "../errors/PublicError.ts";
import type { Documents } from "../graphql/documents.ts";
import type { HiddenField } from "../graphql/hiddenFields.ts";
import { hiddenIn } from "../graphql/hiddenInAnswer.ts";
import { rootFields } from "../graphql/rootFields.ts";

declare global {
  namespace Grafast {
    interface RequestContext {
      /** The caller, when the operation does not come from an HTTP request. */
      requestContext?: RequestInfo;
    }
  }
}

/** The result of an operation: its data and hidden fields, or an error message. */
export type Outcome =
  | { data: Record<string, unknown>; hidden: HiddenField[]; error?: undefined }
  | { data?: undefined; error: string };

/** Runs GraphQL operations in process, with the same guards, policies and audit as HTTP requests. */
export interface Operations {
  schema: () => GraphQLSchema;
  run: (requestContext: RequestInfo, source: string, variables: object) => Promise<Outcome>;
  /**
   * Checks document, variables and field guards of an operation without running it.
   * @throws PublicError when the caller could not run it
   */
  check: (requestContext: RequestInfo, source: string, variables: object) => void;
}

interface OperationsOptions {
  schema: () => GraphQLSchema;
  resolvedPreset: () => GraphileConfig.ResolvedPreset;
  documents: Documents;
  publicError: (error: GraphQLError) => GraphQLError;
}

/** The number of operations at a time: a question can lead to dozens, and other users need the database as well. */
const parallel = 4;

export function makeOperations(options: OperationsOptions): Operations {
  const limit = pLimit(parallel);
  const { schema, resolvedPreset, documents, publicError } = options;

  const messageOf = (errors: readonly GraphQLError[]) =>
    [...new Set(errors.map((error) => publicError(error).message))].join("; ");

  function read(source: string) {
    const { document, errors } = documents.read(source);
    if (!document) throw badUserInput(messageOf(errors));
    const operation = getOperationAST(document);
    if (!operation || operation.operation === OperationTypeNode.SUBSCRIPTION)
      throw badUserInput("The document must hold one query or mutation");
    return { document, operation };
  }

  return {
    schema,

    async run(requestContext, source, variables) {
      const { document } = read(source);
      const args = await hookArgs({
        schema: schema(),
        document,
        contextValue: {},
        variableValues: variables as Record<string, unknown>,
        resolvedPreset: resolvedPreset(),
        // Neither the idempotency key nor the cookie of the request applies to the assistant's operations.
        requestContext: {
          requestContext: { ...requestContext, idempotency: null, sessionCookie: undefined },
        },
      });
      let result: ExecutionResult;
      try {
        const executed = await limit(async () => execute(args));
        if (Symbol.asyncIterator in executed) throw new Error("The answer comes in parts");
        result = executed;
      } catch (error) {
        const originalError = error instanceof Error ? error : new Error(String(error));
        result = { errors: [new GraphQLError(originalError.message, { originalError })] };
      }
      if (result.errors && result.errors.length > 0) return { error: messageOf(result.errors) };
      return { data: result.data ?? {}, hidden: hiddenIn({ ...args, document }, result) };
    },

    check(requestContext, source, variables) {
      const { document, operation } = read(source);
      const { errors } = getVariableValues(
        schema(),
        operation.variableDefinitions ?? [],
        variables as Record<string, unknown>,
        { maxErrors: 5, hideSuggestions: true },
      );
      if (errors) throw badUserInput(messageOf(errors));
      const root = schema().getRootType(operation.operation);
      for (const node of rootFields(document, operation)) {
        const field = root?.getFields()[node.name.value];
        checkGuard(field ? guardOf(field) : [], requestContext);
      }
    },
  };
}
