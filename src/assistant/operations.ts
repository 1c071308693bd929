import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  OperationTypeNode,
  getOperationAST,
  getVariableValues,
} from "graphql";
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
      /** Who asks, where the operation comes over no connection of its own. */
      requestContext?: RequestInfo;
    }
  }
}

/** What an operation came to: its data with what it hides, or the message of what was refused or failed. */
export type Outcome =
  | { data: Record<string, unknown>; hidden: HiddenField[]; error?: undefined }
  | { data?: undefined; error: string };

/** Runs GraphQL operations within the server, through the guards, policies and audit that requests go through. */
export interface Operations {
  schema: () => GraphQLSchema;
  run: (requestContext: RequestInfo, source: string, variables: object) => Promise<Outcome>;
  /**
   * Whether an operation could be run by this caller, as far as that is known before it is: its document, its variables and the
   * guards of its fields.
   * @throws PublicError when it could not
   */
  check: (requestContext: RequestInfo, source: string, variables: object) => void;
}

interface OperationsOptions {
  schema: () => GraphQLSchema;
  resolvedPreset: () => GraphileConfig.ResolvedPreset;
  documents: Documents;
  publicError: (error: GraphQLError) => GraphQLError;
}

export function makeOperations(options: OperationsOptions): Operations {
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
        // What is done in the course of an answer has no key of the request's.
        requestContext: { requestContext: { ...requestContext, idempotency: null } },
      });
      let result: ExecutionResult;
      try {
        const executed = await execute(args);
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
      for (const node of rootFields(document, operation.selectionSet)) {
        const field = root?.getFields()[node.name.value];
        checkGuard(field ? guardOf(field) : [], requestContext);
      }
    },
  };
}
