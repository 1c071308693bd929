import { badUserInput } from "../errors/PublicError.ts";

/** The most groups that one field returns. */
export const MAX_GROUPS = 1000;

/** Validates the keys and the number of groups, and returns the number. @throws PublicError */
export function checkGroups(keys: readonly unknown[], first: number | null | undefined): number {
  if (keys.length === 0)
    throw badUserInput("groupBy must name one key at least", {
      path: ["groupBy"],
    });
  const size = first ?? MAX_GROUPS;
  if (size < 0 || size > MAX_GROUPS)
    throw badUserInput(`first must be from 0 to ${MAX_GROUPS}`, {
      path: ["first"],
    });
  return size;
}
