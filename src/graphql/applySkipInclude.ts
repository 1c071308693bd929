import {
  type ConstDirectiveNode,
  type DirectiveNode,
  type DocumentNode,
  type OperationDefinitionNode,
  Kind,
  visit,
} from "graphql";
import { isCondition } from "./conditions.ts";

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
 * Applies `@skip` and `@include` and removes these directives; null where a condition has no value, which Grafast words
 * as an error.
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

/** The value of the condition; undefined where it is not a boolean. */
function valueOf(
  condition: DirectiveNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): boolean | undefined {
  const value = condition.arguments?.find(({ name }) => name.value === "if")?.value;
  if (value?.kind === Kind.BOOLEAN) return value.value;
  if (value?.kind !== Kind.VARIABLE) return undefined;
  const name = value.name.value;
  const definition = variableDefinitions.find(({ variable }) => variable.name.value === name);
  const { defaultValue } = definition ?? {};
  const sent = Object.hasOwn(given, name) ? given[name] : undefined;
  if (sent === undefined && defaultValue?.kind === Kind.BOOLEAN) return defaultValue.value;
  return definition && typeof sent === "boolean" ? sent : undefined;
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
