import { OfficeError } from "../errors.ts";

/** @throws OfficeError BAD_USER_INPUT when a document holds more of something than `limit` */
export function refuseBeyond(what: string, found: number, limit: number): void {
  if (found > limit)
    throw new OfficeError(
      "BAD_USER_INPUT",
      `The document has ${found} ${what}; at most ${limit} are allowed`,
      { limit },
    );
}
