import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type ValidationRule,
  getNamedType,
  isEnumType,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { LRUCache } from "lru-cache";
import { guardOf } from "../auth/guards.ts";
import type { Config } from "../config.ts";
import { badUserInput, PublicError } from "../errors/PublicError.ts";
import { longestListOf } from "./enumLists.ts";
import { inputPathOf } from "../errors/inputPath.ts";
import { checkDocument } from "./queryComplexity.ts";
import { rootFields } from "./rootFields.ts";

/** A document that can be executed, or what is wrong with it. */
export type Reading =
  | {
      document: DocumentNode;
      errors?: undefined;
      /** The operations that only clean up a test run: their names, `""` for one without. */
      cleanUps: ReadonlySet<string>;
      /** Each operation, by its name, `""` for one without. */
      operations: ReadonlyMap<string, OperationSummary>;
    }
  | {
      document?: undefined;
      cleanUps?: undefined;
      operations?: undefined;
      errors: readonly GraphQLError[];
    };

/** What is known of an operation before it is executed. */
export interface OperationSummary {
  firstField: string;
  /** Objects that it can ask for, estimated from its page sizes. */
  cost: number;
  /** Whether it asks for something that needs no login, such as logging in: then it is nobody's, whatever token comes with it. */
  isNobodys: boolean;
}

/** Reads GraphQL documents: bounded, parsed and validated. */
export interface Documents {
  read(query: string): Reading;
  /** Whether what was found out about a document is kept. */
  knows(query: string): boolean;
}

/** Faults of a document that are told at a time. */
const errorLimit = 20;
/** Characters per token that a document may have on average, whatever its literals hold. */
const charactersPerToken = 25;
/** Characters of a usual document, for the memory that the kept ones take together. */
const usualLength = 4_000;

/**
 * Bounds a document before anything validates or plans it. What was found out is kept for the documents seen last, refusals
 * too; how many is bounded by their number and by their length together.
 */
export function makeDocuments(
  schema: () => GraphQLSchema,
  config: Pick<Config, "limits" | "introspection">,
): Documents {
  const { limits, introspection } = config;
  const rules = [
    ...specifiedRules,
    shortEnumLists,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ];
  const kept = new LRUCache<string, Reading>({
    max: limits.planCache,
    maxSize: limits.planCache * usualLength,
    sizeCalculation: (_reading, query) => query.length + 1,
  });

  function examine(query: string): Reading {
    const longest = limits.tokens * charactersPerToken;
    if (query.length > longest)
      throw badUserInput(
        `The document has ${query.length} characters; at most ${longest} are allowed`,
      );
    const document = parse(query, { maxTokens: limits.tokens });
    const costs = checkDocument(document, schema(), limits);
    const errors = [
      ...unknownOperations(document, schema()),
      ...validate(schema(), document, rules, {
        maxErrors: errorLimit,
        hideSuggestions: !introspection,
      }).map((error) => withPath(error, document)),
    ];
    return errors.length > 0
      ? { errors }
      : {
          document,
          cleanUps: cleanUpsOf(document),
          operations: summariesOf(document, costs, schema()),
        };
  }

  return {
    knows: (query) => kept.has(query),
    read(query) {
      const known = kept.get(query);
      if (known) return known;
      let reading: Reading;
      try {
        reading = examine(query);
      } catch (error) {
        reading = { errors: [refusal(error, limits.tokens)] };
      }
      kept.set(query, reading);
      return reading;
    },
  };
}

/** Refuses a list of enum values, such as `orderBy`, that is too long to have each of them once. */
const shortEnumLists: ValidationRule = (context) => ({
  ListValue(node) {
    const type = getNamedType(context.getInputType());
    if (!isEnumType(type)) return;
    const limit = longestListOf(type);
    if (node.values.length > limit)
      context.reportError(
        new GraphQLError(`A list of ${type.name} has at most ${limit} items`, { nodes: node }),
      );
  },
});

function refusal(error: unknown, tokens: number): GraphQLError {
  if (error instanceof GraphQLError) {
    if (!error.message.startsWith("Syntax Error: Document contains more tha")) return error;
    error = badUserInput(`The document has more than ${tokens} tokens`, {
      limit: tokens,
    });
  }
  // The parser goes down into a document by calling itself.
  if (error instanceof RangeError) error = badUserInput("The document is nested too deeply");
  if (!(error instanceof PublicError)) throw error;
  return new GraphQLError(error.message, { originalError: error });
}

/** Operations of a kind that the schema does not have; validation, which finds no fields to compare them with, passes over them. */
function unknownOperations(document: DocumentNode, schema: GraphQLSchema): GraphQLError[] {
  return document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION && !schema.getRootType(node.operation)
      ? [new GraphQLError(`There are no operations of the kind ${node.operation}`, { nodes: node })]
      : [],
  );
}

/** Validation tells of a wrong literal without saying of which field it is the value. */
function withPath(error: GraphQLError, document: DocumentNode): GraphQLError {
  const { message, nodes } = error;
  const argument = /argument "(\w+)" of type "[^"]*" is required/.exec(message)?.[1];
  if (argument) return new GraphQLError(message, { nodes, extensions: { path: [argument] } });
  const [node] = nodes ?? [];
  const isInput = node && (node.kind.endsWith("Value") || node.kind === Kind.OBJECT_FIELD);
  const path = isInput ? inputPathOf(document, node) : [];
  const missing = /^Field "\w+\.(\w+)" of required type/.exec(message)?.[1];
  if (missing) path.push(missing);
  if (path.length === 0) return error;
  return new GraphQLError(`${path.join(".")}: ${message}`, { nodes, extensions: { path } });
}

function summariesOf(
  document: DocumentNode,
  costs: ReadonlyMap<string, number>,
  schema: GraphQLSchema,
): Map<string, OperationSummary> {
  const summaries = new Map<string, OperationSummary>();
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const fields = rootFields(document, node.selectionSet).map((field) => field.name.value);
    const declared = schema.getRootType(node.operation)?.getFields() ?? {};
    const name = node.name?.value ?? "";
    summaries.set(name, {
      firstField: fields[0] ?? "",
      cost: costs.get(name) ?? 0,
      isNobodys: fields.some((field) => declared[field] && guardOf(declared[field]) === "public"),
    });
  }
  return summaries;
}

/**
 * The operations whose only field is `cleanupTestRun`: they must not make the tenant that they are to remove.
 * @throws PublicError BAD_USER_INPUT for an operation that mixes it with fields that would work in that tenant
 */
function cleanUpsOf(document: DocumentNode): Set<string> {
  const cleanUps = new Set<string>();
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const fields = rootFields(document, node.selectionSet)
      .map((field) => field.name.value)
      .filter((name) => name !== "__typename");
    if (!fields.includes("cleanupTestRun")) continue;
    if (fields.some((name) => name !== "cleanupTestRun"))
      throw badUserInput("cleanupTestRun must be the only field of its operation");
    cleanUps.add(node.name?.value ?? "");
  }
  return cleanUps;
}
