import {
  type DocumentNode,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import { isSkipped } from "./conditions.ts";

/**
 * The root fields of an operation, including those of fragments, in document order; with variables, only those that
 * `@skip` and `@include` leave. Each fragment is visited once, so the time is linear also before validation has rejected
 * cycles.
 */
export function rootFields(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables?: Readonly<Record<string, unknown>>,
): FieldNode[] {
  const visited = new Set<string>();
  const isAsked = (node: SelectionNode) => !variables || !isSkipped(node, operation, variables);
  const fieldsOf = ({ selections }: SelectionSetNode): FieldNode[] =>
    selections.filter(isAsked).flatMap((node) => {
      if (node.kind === Kind.FIELD) return [node];
      if (node.kind === Kind.INLINE_FRAGMENT) return fieldsOf(node.selectionSet);
      const name = node.name.value;
      if (visited.has(name)) return [];
      visited.add(name);
      const fragment = document.definitions.find(
        (definition) =>
          definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name,
      );
      return fragment?.kind === Kind.FRAGMENT_DEFINITION ? fieldsOf(fragment.selectionSet) : [];
    });
  return fieldsOf(operation.selectionSet);
}
