import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type OperationTypeNode,
  type SelectionSetNode,
  GraphQLError,
  getNamedType,
  getOperationAST,
  isObjectType,
} from "graphql";
import { withAuditIds } from "../audit/auditIds.ts";
import { PublicError } from "../errors/PublicError.ts";
import { type Fragments, collectFields, fragmentsOf } from "../graphql/collectFields.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";

/** The operation selects something that the SQL-JSON path does not support. */
export class UnsupportedSelection extends Error {
  override name = "UnsupportedSelection";
}

/**
 * The result of `work`, or null where Grafast has to answer: the selection is not supported, or the request is invalid
 * and Grafast reports the error. Any other error is a defect of the compiler and is thrown.
 */
export function unlessUnsupported<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    const expected = [UnsupportedSelection, GraphQLError, PublicError, QuerySyntaxError];
    if (expected.some((type) => error instanceof type)) return null;
    throw error;
  }
}

/** An operation with its root fields by response key. */
interface Operation {
  operation: OperationDefinitionNode;
  root: GraphQLObjectType;
  fragments: Fragments;
  nodes: ReadonlyMap<string, FieldNode>;
}

/** The operation of a document. @throws UnsupportedSelection */
export function operationOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  type: OperationTypeNode,
): Operation {
  const operation = getOperationAST(document, operationName);
  const root = schema.getRootType(type);
  if (operation?.operation !== type || !root || operation.directives?.length)
    throw new UnsupportedSelection("operation");
  // Grafast adds ids to rows of audited types that were selected without, and removes them.
  if (withAuditIds(schema, document, operationName) !== document)
    throw new UnsupportedSelection("audited row without its id");
  const fragments = fragmentsOf(document);
  return { operation, root, fragments, nodes: fieldsOf(fragments, operation) };
}

/** @throws UnsupportedSelection for arguments that are not among `known` */
export function assertOnly(
  args: Readonly<Record<string, unknown>>,
  known: readonly string[] = [],
): void {
  if (Object.entries(args).some(([name, value]) => value != null && !known.includes(name)))
    throw new UnsupportedSelection("argument");
}

/** The fields of a selection by response key. @throws UnsupportedSelection for conditions */
export function fieldsOf(
  fragments: Fragments,
  { selectionSet }: { selectionSet?: SelectionSetNode | undefined },
): ReadonlyMap<string, FieldNode> {
  const found = new Map<string, FieldNode>();
  const collected = selectionSet ? collectFields(fragments, selectionSet) : [];
  for (const { key, node, conditional } of collected) {
    if (conditional) throw new UnsupportedSelection("directive");
    const before = found.get(key);
    found.set(key, before ? merged(before, node) : node);
  }
  return found;
}

/** Merges two nodes of one response key; validation has ensured equal fields and arguments. */
function merged(before: FieldNode, node: FieldNode): FieldNode {
  const { selectionSet } = before;
  if (!selectionSet || !node.selectionSet) return before;
  const selections = [...selectionSet.selections, ...node.selectionSet.selections];
  return { ...before, selectionSet: { ...selectionSet, selections } };
}

/** The schema's field of a node. @throws UnsupportedSelection */
export function fieldOf(type: GraphQLObjectType, node: FieldNode): GraphQLField<unknown, unknown> {
  const field = type.getFields()[node.name.value];
  if (!field) throw new UnsupportedSelection(node.name.value);
  return field;
}

/** The object type of a field. @throws UnsupportedSelection */
export function typeOf(field: GraphQLField<unknown, unknown>): GraphQLObjectType {
  const type = getNamedType(field.type);
  if (!isObjectType(type)) throw new UnsupportedSelection("type");
  return type;
}
