import type { DirectiveNode } from "graphql";

/** Whether a directive decides on what it stands at by a condition. */
export function isCondition({ name }: DirectiveNode): boolean {
  return name.value === "skip" || name.value === "include";
}
