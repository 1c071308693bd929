import type { GraphQLEnumType } from "graphql";

const longest = new WeakMap<GraphQLEnumType, number>();

/**
 * The items that a list of enum values can have at most: each value once, and of an order each column once, whatever its direction.
 */
export function longestListOf(type: GraphQLEnumType): number {
  let limit = longest.get(type);
  if (limit === undefined) {
    const names = type.getValues().map(({ name }) => name.replace(/_(ASC|DESC)$/, ""));
    longest.set(type, (limit = new Set(names).size));
  }
  return limit;
}
