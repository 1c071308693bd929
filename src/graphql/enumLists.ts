import type { GraphQLEnumType } from "graphql";

const maxLengths = new WeakMap<GraphQLEnumType, number>();

/** The most items of a list of enum values: each value once; for orders, each column once in either direction. */
export function maxListLength(type: GraphQLEnumType): number {
  let limit = maxLengths.get(type);
  if (limit === undefined) {
    const names = type.getValues().map(({ name }) => name.replace(/_(ASC|DESC)$/, ""));
    maxLengths.set(type, (limit = new Set(names).size));
  }
  return limit;
}
