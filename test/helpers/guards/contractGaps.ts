import { buildSchema, findBreakingChanges } from "graphql";
import type { GraphQLSchema } from "graphql";

/**
 * What the contract promises and a schema does not serve, sorted, each as the kind of breaking change and what it is
 * about: `FIELD_REMOVED Query.orders`.
 */
export function contractGaps(contract: string, served: GraphQLSchema): string[] {
  // The contract leaves out what is the project's to choose, such as an enum's values: as it stands it is not valid.
  const promised = buildSchema(contract, { assumeValid: true, assumeValidSDL: true });
  return findBreakingChanges(promised, served)
    .map(({ type, description }) => `${type} ${description.replace(/(?: was removed)?\.$/, "")}`)
    .sort();
}
