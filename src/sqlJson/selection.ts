import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type SelectionSetNode,
  GraphQLError,
  getNamedType,
  isObjectType,
} from "graphql";
import { collectFields } from "../graphql/collectFields.ts";
import { PublicError } from "../errors/PublicError.ts";
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
    if (error instanceof UnsupportedSelection || isRequestError(error)) return null;
    throw error;
  }
}

/** Whether an error is about the arguments or the query text of a request. */
function isRequestError(error: unknown): boolean {
  return (
    error instanceof GraphQLError ||
    error instanceof PublicError ||
    error instanceof QuerySyntaxError
  );
}

/** @throws UnsupportedSelection for arguments that are not among `known` */
export function assertOnly(
  args: Readonly<Record<string, unknown>>,
  known: readonly string[] = [],
): void {
  if (Object.entries(args).some(([name, value]) => value != null && !known.includes(name)))
    throw new UnsupportedSelection("argument");
}

/** The document of a selection. */
export interface Fragments {
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

/** The fields of a selection by response key. @throws UnsupportedSelection for conditions */
export function fieldsOf(
  { fragments }: Fragments,
  selectionSet: SelectionSetNode | undefined,
): [string, FieldNode][] {
  const found = new Map<string, FieldNode>();
  for (const { key, node, conditional } of selectionSet
    ? collectFields(fragments, selectionSet)
    : []) {
    if (conditional) throw new UnsupportedSelection("directive");
    const before = found.get(key);
    found.set(key, before ? merged(before, node) : node);
  }
  return [...found];
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
