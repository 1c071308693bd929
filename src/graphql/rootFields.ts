import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from "graphql";

/**
 * The root fields of an operation, including those of fragments, in document order. Each fragment is visited once, so
 * the time is linear also before validation has rejected cycles.
 */
export function rootFields(
  document: DocumentNode,
  selectionSet: SelectionSetNode,
  visited = new Set<string>(),
): FieldNode[] {
  return selectionSet.selections.flatMap((node) => {
    if (node.kind === Kind.FIELD) return [node];
    if (node.kind === Kind.INLINE_FRAGMENT) return rootFields(document, node.selectionSet, visited);
    const name = node.name.value;
    if (visited.has(name)) return [];
    visited.add(name);
    const fragment = document.definitions.find(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name,
    );
    return fragment?.kind === Kind.FRAGMENT_DEFINITION
      ? rootFields(document, fragment.selectionSet, visited)
      : [];
  });
}
