import type { GraphQLEnumType } from "graphql";

const longest = new WeakMap<GraphQLEnumType, number>();

/** The most items of a list of enum values: each value once; for orders, each column once in either direction. */
export function longestListOf(type: GraphQLEnumType): number {
  let limit = longest.get(type);
  if (limit === undefined) {
    const names = type.getValues().map(({ name }) => name.replace(/_(ASC|DESC)$/, ""));
    longest.set(type, (limit = new Set(names).size));
  }
  return limit;
}
