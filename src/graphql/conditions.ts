import type { DirectiveNode } from "graphql";

/** Whether a directive is `@skip` or `@include`. */
export function isCondition({ name }: DirectiveNode): boolean {
  return name.value === "skip" || name.value === "include";
}
