import { buildSchema, findBreakingChanges } from "graphql";
import type { GraphQLSchema } from "graphql";

/**
 * The parts of the contract that a schema does not serve, sorted, with the kind of breaking change:
 * `FIELD_REMOVED Query.orders`.
 */
export function contractGaps(contract: string, served: GraphQLSchema): string[] {
  // The contract omits details such as enum values, so it is not a valid schema.
  const promised = buildSchema(contract, { assumeValid: true, assumeValidSDL: true });
  return findBreakingChanges(promised, served)
    .map(({ type, description }) => `${type} ${description.replace(/(?: was removed)?\.$/, "")}`)
    .sort();
}
