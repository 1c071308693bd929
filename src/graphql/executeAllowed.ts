import {
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  Kind,
  type OperationDefinitionNode,
  getOperationAST,
  isNonNullType,
} from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { guardOf, guardError } from "../auth/guards.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { coerceVariables } from "./coerceVariables.ts";
import { rootFields } from "./rootFields.ts";

type Execute<Result> = () => Result | Promise<Result>;

/** A root field that its guard refuses, and the error for it. */
type RefusedFields = Map<string, { nodes: FieldNode[]; error: GraphQLError; isRequired: boolean }>;

/** The most documents that are cached for one, each without the fields that some caller may not use. */
const maxCachedVariants = 50;

const variants = new WeakMap<DocumentNode, Map<string, DocumentNode>>();

/**
 * Checks the guards of all root fields, then executes the operation without the refused ones. Each of those is null,
 * with its error; where one cannot be null, nothing is executed.
 */
export async function executeAllowed<Result extends object>(
  args: GrafastExecutionArgs,
  execute: Execute<Result>,
): Promise<Result | ExecutionResult> {
  const { schema, document, operationName, variableValues, contextValue } = args;
  const operation = getOperationAST(document, operationName);
  const root = operation && schema.getRootType(operation.operation);
  if (!root) return execute();
  const { requestContext } = contextValue as { requestContext: RequestInfo };
  const given = variableValues ?? {};
  const fields = Map.groupBy(rootFields(document, operation, given), keyOf);
  const refused = refusedOf(root, fields, requestContext);
  // Grafast reports invalid variables in the same way to every caller.
  if (refused.size === 0 || !coerceVariables(schema, operation, given)) return execute();
  const errors = Array.from(refused.values(), ({ error }) => error);
  if (Array.from(refused.values()).some(({ isRequired }) => isRequired))
    return { data: null, errors };
  const allowed = [...fields].flatMap(([key, nodes]) => (refused.has(key) ? [] : nodes));
  const result =
    allowed.length === 0 ? { data: {} } : await executeOnly(args, operation, allowed, execute);
  if (!("data" in result)) return result;
  return withRefused(result, [...fields.keys()], refused);
}

function keyOf({ alias, name }: FieldNode): string {
  return alias?.value ?? name.value;
}

function refusedOf(
  root: GraphQLObjectType,
  fields: ReadonlyMap<string, FieldNode[]>,
  caller: RequestInfo,
): RefusedFields {
  const declared = root.getFields();
  const refused: RefusedFields = new Map();
  for (const [key, nodes] of fields) {
    const field = declared[nodes[0]?.name.value ?? ""];
    const refusal = field && guardError(guardOf(field), caller);
    if (!refusal) continue;
    const error = new GraphQLError(refusal.message, { nodes, path: [key], originalError: refusal });
    refused.set(key, { nodes, error, isRequired: isNonNullType(field.type) });
  }
  return refused;
}

async function executeOnly<Result extends object>(
  args: GrafastExecutionArgs,
  operation: OperationDefinitionNode,
  nodes: readonly FieldNode[],
  execute: Execute<Result>,
): Promise<Result> {
  const { document } = args;
  args.document = variantOf(document, operation, nodes);
  try {
    return await execute();
  } finally {
    args.document = document;
  }
}

/** The document with these root fields only; the same object for the same fields, since plans are cached by it. */
function variantOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  nodes: readonly FieldNode[],
): DocumentNode {
  const known = variants.get(document) ?? new Map<string, DocumentNode>();
  variants.set(document, known);
  const key = [operation.name?.value ?? "", ...nodes.map(({ loc }) => loc?.start)].join(" ");
  const before = known.get(key);
  if (before) return before;
  const selectionSet = { kind: Kind.SELECTION_SET, selections: nodes } as const;
  const only = { ...operation, selectionSet };
  const definitions = document.definitions.map((node) => (node === operation ? only : node));
  const variant = { ...document, definitions };
  if (known.size >= maxCachedVariants) known.clear();
  known.set(key, variant);
  return variant;
}

/** Adds the refused fields and their errors to the result of the others, in the order of the document. */
function withRefused(
  result: ExecutionResult,
  keys: readonly string[],
  refused: RefusedFields,
): ExecutionResult {
  const { data } = result;
  const others = Map.groupBy(result.errors ?? [], ({ path }) => path?.[0]);
  const errors = keys.flatMap((key) => refused.get(key)?.error ?? others.get(key) ?? []);
  const elsewhere = (result.errors ?? []).filter((error) => !errors.includes(error));
  return {
    ...result,
    data: data && Object.fromEntries(keys.map((key) => [key, data[key] ?? null])),
    errors: [...errors, ...elsewhere],
  };
}
