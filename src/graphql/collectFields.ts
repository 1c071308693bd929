import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { isCondition } from "./conditions.ts";

/** The fragments of a document by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** A field of a selection. */
export interface Collected {
  /** Its response name. */
  key: string;
  node: FieldNode;
  /** Whether `@skip` or `@include` apply to it or to a fragment that contains it. */
  conditional: boolean;
}

export function fragmentsOf(document: DocumentNode): Fragments {
  return new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
}

/**
 * The fields of a selection in document order, with fragments expanded; one selected several times occurs as often. For
 * valid documents without interfaces and unions, so that each fragment is of the selection's type.
 */
export function collectFields(
  fragments: Fragments,
  { selections }: SelectionSetNode,
  conditional = false,
): Collected[] {
  return selections.flatMap((node) => {
    const isConditional = conditional || (node.directives?.some(isCondition) ?? false);
    if (node.kind === Kind.FIELD)
      return [{ key: responseName(node), node, conditional: isConditional }];
    const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node;
    return fragment ? collectFields(fragments, fragment.selectionSet, isConditional) : [];
  });
}

export function responseName({ alias, name }: FieldNode): string {
  return alias?.value ?? name.value;
}
