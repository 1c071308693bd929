import type { Replica } from "./replica.ts";
import type { Asker, FindAsker, RunAs } from "./runAs.ts";
import { gather, type TextAnswer, type TextStatement } from "./textAnswer.ts";

/** Reads as whoever holds the token at that moment, what is as it is at that moment; as {@link RunAs}. */
export type ReadAs = (asker: Asker, statement: TextStatement) => Promise<TextAnswer>;

/**
 * Reads on the replica what it can answer as freshly as the primary: the primary tells who asks and how far it has come, in one
 * message, and the replica waits until it has come as far, and reads, in another. Whatever gets in the way of that, the
 * primary answers by itself, as it does without a replica. For statements that write nothing.
 */
export function makeReadAs(runAs: RunAs, findAsker: FindAsker, replica: Replica): ReadAs {
  return async (asker, statement) => {
    const found = replica.rests() ? undefined : await findAsker(asker);
    if (found?.mark != null) {
      const { settings, mark } = found;
      const gathered = gather(statement);
      const read = { mark, area: asker.area, settings, statement: gathered.statement };
      if (await replica.read(read)) return { text: gathered.text(), beside: gathered.beside() };
    }
    return runAs.read(asker, statement);
  };
}
