import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from "graphql";

/** The root fields that an operation asks for, those of its fragments included, in the order of the document. */
export function rootFields(document: DocumentNode, selectionSet: SelectionSetNode): FieldNode[] {
  return selectionSet.selections.flatMap((node) => {
    if (node.kind === Kind.FIELD) return [node];
    if (node.kind === Kind.INLINE_FRAGMENT) return rootFields(document, node.selectionSet);
    const fragment = document.definitions.find(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === node.name.value,
    );
    return fragment?.kind === Kind.FRAGMENT_DEFINITION
      ? rootFields(document, fragment.selectionSet)
      : [];
  });
}
