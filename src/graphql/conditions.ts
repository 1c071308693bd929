import {
  type DirectiveNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from "graphql";

/** Whether a directive is `@skip` or `@include`. */
export function isCondition({ name }: DirectiveNode): boolean {
  return name.value === "skip" || name.value === "include";
}

/** Whether `@skip` or `@include` leave a selection out. */
export function isSkipped(
  { directives = [] }: SelectionNode,
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): boolean {
  return directives.some(
    (directive) =>
      isCondition(directive) &&
      valueOf(directive, operation, given) === (directive.name.value === "skip"),
  );
}

/** The value of the condition; undefined where it is not a boolean. */
export function valueOf(
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
