import {
  type ConstDirectiveNode,
  type DirectiveNode,
  type DocumentNode,
  type OperationDefinitionNode,
  visit,
} from "graphql";
import { isCondition, valueOf } from "./conditions.ts";

/** A document after @skip and @include were applied for some variables. */
export interface Unconditional {
  /** Differs where the same document has another result with other variables. */
  key: string;
  /** Null where a selection is empty. */
  document: () => DocumentNode | null;
}

type Value = (condition: DirectiveNode) => boolean | undefined;

const conditions = new WeakMap<DocumentNode, readonly DirectiveNode[]>();

/**
 * Applies `@skip` and `@include` and removes these directives; null when a condition has no value. Grafast then reports
 * the error.
 */
export function applySkipInclude(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): Unconditional | null {
  let known = conditions.get(document);
  if (!known) conditions.set(document, (known = conditionsOf(document)));
  if (known.length === 0) return { key: "", document: () => document };
  const value: Value = (condition) => valueOf(condition, operation, given);
  const values = known.map(value);
  if (values.includes(undefined)) return null;
  return { key: values.map(Number).join(""), document: () => prune(document, value) };
}

function conditionsOf(document: DocumentNode): readonly DirectiveNode[] {
  const found: DirectiveNode[] = [];
  visit(document, {
    Directive: (node) => {
      if (isCondition(node)) found.push(node);
    },
  });
  return found;
}

function prune(document: DocumentNode, value: Value): DocumentNode | null {
  let isEmpty = false;
  const among = <T extends { directives?: readonly (DirectiveNode | ConstDirectiveNode)[] }>(
    node: T,
  ): T | null | undefined => {
    if (!node.directives?.length) return undefined;
    const skipped = node.directives.some(
      (directive) =>
        isCondition(directive) && value(directive) === (directive.name.value === "skip"),
    );
    return skipped
      ? null
      : { ...node, directives: node.directives.filter((directive) => !isCondition(directive)) };
  };
  const left = visit(document, {
    Field: { enter: among },
    FragmentSpread: { enter: among },
    InlineFragment: { enter: among },
    SelectionSet: {
      leave: ({ selections }) => {
        if (selections.length === 0) isEmpty = true;
      },
    },
  });
  return isEmpty ? null : left;
}
