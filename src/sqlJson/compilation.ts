import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type SelectionSetNode,
  Kind,
  getNamedType,
  isObjectType,
  print,
} from "graphql";
import type { BindNth } from "../query/bind.ts";
import { sqlJsonFieldOf } from "./sqlJsonField.ts";
import type { FieldPart } from "./fieldPart.ts";
import { type Fragments, fieldOf, fieldsOf } from "./selection.ts";

/** The input of a compilation. */
export interface Compilation extends Fragments {
  /**
   * The resolved arguments of fields and their parameters: root fields by response key, others by {@link nestedKey}.
   */
  parts: ReadonlyMap<string, { kind: FieldPart["kind"]; bind: BindNth }>;
}

/** Identifies a field with its arguments, which resolve to the same values wherever they occur in a document. */
export function nestedKey(type: GraphQLObjectType, node: FieldNode): string {
  const { name, arguments: args } = node;
  return `${type.name}.${print({ kind: Kind.FIELD, name, ...(args ? { arguments: args } : {}) })}`;
}

/**
 * The fields below a selection that are pages, lists or groups of related rows, by {@link nestedKey}. @throws
 * UnsupportedSelection
 */
export function nestedFields(
  fragments: Fragments,
  type: GraphQLObjectType,
  selectionSet: SelectionSetNode | undefined,
  found = new Map<string, [GraphQLField<unknown, unknown>, FieldNode]>(),
): typeof found {
  for (const [, node] of fieldsOf(fragments, type, selectionSet)) {
    if (!node.selectionSet) continue;
    const field = fieldOf(type, node);
    const kind = sqlJsonFieldOf(field.extensions)?.kind;
    const isPart = kind === "many" && node.arguments?.length;
    if (kind === "manyPage" || kind === "groupedAggregates" || isPart)
      found.set(nestedKey(type, node), [field, node]);
    const inner = getNamedType(field.type);
    if (isObjectType(inner)) nestedFields(fragments, inner, node.selectionSet, found);
  }
  return found;
}
