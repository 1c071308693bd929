import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from "graphql";

/**
 * The root fields that an operation asks for, those of its fragments included, in the order of the document. Each fragment counts
 * once, as in execution, so that the work is linear also where validation has not refused cycles yet.
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
