import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type SelectionSetNode,
  GraphQLError,
  Kind,
  getNamedType,
  isObjectType,
} from "graphql";
import { PublicError } from "../errors/PublicError.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";

/** The operation selects something that the SQL-JSON path does not support. */
export class UnsupportedSelection extends Error {
  override name = "UnsupportedSelection";
}

/**
 * The result of `work`, or null where Grafast has to answer: the selection is not supported, or the request is wrong
 * and Grafast words the error. Any other error is a defect of the compiler and is thrown.
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

/** @throws UnsupportedSelection for arguments that are not known */
export function assertOnly(args: Readonly<Record<string, unknown>>): void {
  if (Object.values(args).some((value) => value != null))
    throw new UnsupportedSelection("argument");
}

/** The fragments of a document by name. */
export interface Fragments {
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

export function fragmentsOf(document: DocumentNode): Fragments["fragments"] {
  return new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
}

/** The fields of a selection by response key, with fragments expanded. @throws UnsupportedSelection */
export function fieldsOf(
  document: Fragments,
  type: GraphQLObjectType,
  selectionSet: SelectionSetNode | undefined,
  found = new Map<string, FieldNode>(),
): [string, FieldNode][] {
  for (const node of selectionSet?.selections ?? []) {
    if (node.directives?.length) throw new UnsupportedSelection("directive");
    if (node.kind === Kind.FIELD) {
      const key = node.alias?.value ?? node.name.value;
      const before = found.get(key);
      found.set(key, before ? merged(before, node) : node);
      continue;
    }
    const fragment =
      node.kind === Kind.FRAGMENT_SPREAD ? document.fragments.get(node.name.value) : node;
    const condition = fragment?.typeCondition?.name.value;
    if (!fragment || (condition !== undefined && condition !== type.name))
      throw new UnsupportedSelection("fragment");
    fieldsOf(document, type, fragment.selectionSet, found);
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
