import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
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
import { maxListLength } from "./enumLists.ts";
import { inputPathOf } from "../errors/inputPath.ts";
import { checkDocument } from "./queryComplexity.ts";
import { rootFields } from "./rootFields.ts";
import { selectsSecret } from "./secretFields.ts";

/** A valid document, or its errors. */
export type ParsedDocument =
  | {
      document: DocumentNode;
      errors?: undefined;
      /** The names of operations that only clean up a test run; `""` for one without a name. */
      cleanUps: ReadonlySet<string>;
      /** The operations by name; `""` for one without a name. */
      operations: ReadonlyMap<string, OperationSummary>;
    }
  | {
      document?: undefined;
      cleanUps?: undefined;
      operations?: undefined;
      errors: readonly GraphQLError[];
    };

/** Facts about an operation that are known before execution. */
export interface OperationSummary {
  firstField: string;
  /** Objects that it can request, estimated from page sizes. */
  cost: number;
  /** Whether the document selects a field with a secret. */
  selectsSecret: boolean;
  /** Whether a root field needs no login. */
  isPublic: boolean;
  /** Whether it is a mutation with such a field: a login. It then has no caller; a token sent with it is ignored. */
  isPublicMutation: boolean;
}

/** Limits, parses and validates GraphQL documents. */
export interface Documents {
  read(query: string): ParsedDocument;
  /** Whether the result for a document is cached. */
  knows(query: string): boolean;
}

/** The most errors of a document that one response lists. */
const errorLimit = 20;
/** The most characters per token on average, literals included. */
const charactersPerToken = 25;
/** Characters of a typical document, for the memory limit of the cache. */
const typicalLength = 4_000;

/**
 * Limits a document before validation and planning. Results for recent documents are cached, rejections too; the cache
 * is limited by number and by total length.
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
  const cache = new LRUCache<string, ParsedDocument>({
    max: limits.planCache,
    maxSize: limits.planCache * typicalLength,
    sizeCalculation: (_reading, query) => query.length + 1,
  });

  function examine(query: string): ParsedDocument {
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
    knows: (query) => cache.has(query),
    read(query) {
      const known = cache.get(query);
      if (known) return known;
      let parsed: ParsedDocument;
      try {
        parsed = examine(query);
      } catch (error) {
        parsed = { errors: [refusal(error, limits.tokens)] };
      }
      cache.set(query, parsed);
      return parsed;
    },
  };
}

/** Rejects a list of enum values, such as `orderBy`, with more items than distinct values. */
const shortEnumLists: ValidationRule = (context) => ({
  ListValue(node) {
    const type = getNamedType(context.getInputType());
    if (!isEnumType(type)) return;
    const limit = maxListLength(type);
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
  // The parser is recursive: deep nesting exhausts the stack.
  if (error instanceof RangeError) error = badUserInput("The document is nested too deeply");
  if (!(error instanceof PublicError)) throw error;
  return new GraphQLError(error.message, { originalError: error });
}

/** Errors for operation types that the schema does not have; validation skips them. */
function unknownOperations(document: DocumentNode, schema: GraphQLSchema): GraphQLError[] {
  return document.definitions.flatMap((node) =>
    node.kind === Kind.OPERATION_DEFINITION && !schema.getRootType(node.operation)
      ? [new GraphQLError(`There are no operations of the kind ${node.operation}`, { nodes: node })]
      : [],
  );
}

/** Adds the input path to an error about a literal; validation does not name the field. */
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
  const hasSecret = selectsSecret(document, schema);
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const fields = rootFields(document, node).map((field) => field.name.value);
    const declared = schema.getRootType(node.operation)?.getFields() ?? {};
    const name = node.name?.value ?? "";
    const isPublic = fields.some(
      (field) => declared[field] && guardOf(declared[field]) === "public",
    );
    summaries.set(name, {
      firstField: fields[0] ?? "",
      cost: costs.get(name) ?? 0,
      selectsSecret: hasSecret,
      isPublic,
      isPublicMutation: isPublic && node.operation === OperationTypeNode.MUTATION,
    });
  }
  return summaries;
}

/**
 * The operations whose only field is `cleanupTestRun`: they must not create the tenant schema that they remove.
 * @throws PublicError BAD_USER_INPUT for an operation that mixes it with fields that work in that schema
 */
function cleanUpsOf(document: DocumentNode): Set<string> {
  const cleanUps = new Set<string>();
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const fields = rootFields(document, node)
      .map((field) => field.name.value)
      .filter((name) => name !== "__typename");
    if (!fields.includes("cleanupTestRun")) continue;
    if (fields.some((name) => name !== "cleanupTestRun"))
      throw badUserInput("cleanupTestRun must be the only field of its operation");
    cleanUps.add(node.name?.value ?? "");
  }
  return cleanUps;
}
