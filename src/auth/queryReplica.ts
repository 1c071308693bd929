import type { Replica } from "../postgres/replica.ts";
import type { Principal, FindPrincipal, QueryAsPrincipal } from "./queryAsPrincipal.ts";
import { gather, type TextAnswer, type TextStatement } from "../postgres/textAnswer.ts";

/** Reads as whoever holds the token at that moment, what is as it is at that moment; as {@link QueryAsPrincipal}. */
export type ReadReplicaAsPrincipal = (
  principal: Principal,
  statement: TextStatement,
) => Promise<TextAnswer>;

/**
 * Reads on the replica what it can answer as freshly as the primary: the primary tells who asks and how far it has come, in one
 * message, and the replica waits until it has come as far, and reads, in another. Whatever gets in the way of that, the
 * primary answers by itself, as it does without a replica. For statements that write nothing.
 */
export function makeReadReplicaAsPrincipal(
  queryAsPrincipal: QueryAsPrincipal,
  findPrincipal: FindPrincipal,
  replica: Replica,
): ReadReplicaAsPrincipal {
  return async (principal, statement) => {
    const found = replica.rests() ? undefined : await findPrincipal(principal);
    if (found?.mark != null) {
      const { settings, mark } = found;
      const gathered = gather(statement);
      const read = { mark, tenant: principal.tenant, settings, statement: gathered.statement };
      if (await replica.read(read)) return { text: gathered.text(), beside: gathered.beside() };
    }
    return queryAsPrincipal.read(principal, statement);
  };
}
