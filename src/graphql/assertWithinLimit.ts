import { badUserInput } from "../errors/PublicError.ts";

/** @throws PublicError BAD_USER_INPUT when a document has more of something than `limit` */
export function assertWithinLimit(what: string, found: number, limit: number): void {
  if (found > limit)
    throw badUserInput(`The document has ${found} ${what}; at most ${limit} are allowed`, {
      limit,
    });
}
