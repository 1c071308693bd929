import type { Replica } from "../postgres/replica.ts";
import type { FindPrincipal } from "./findPrincipal.ts";
import { identitySettings } from "./identity.ts";
import type { Principal, QueryAsPrincipal } from "./queryAsPrincipal.ts";
import { collectText, type TextAnswer, type TextStatement } from "../postgres/textAnswer.ts";

/** Runs a read with the token's current permissions on a fresh snapshot. */
export type ReadReplicaAsPrincipal = (
  principal: Principal,
  statement: TextStatement,
) => Promise<TextAnswer>;

/**
 * Reads from the replica with the freshness of the primary: one message to the primary returns identity and mark; the
 * replica waits for the mark and reads. The primary answers whenever that fails. For statements that write nothing.
 */
export function makeReadReplicaAsPrincipal(
  queryAsPrincipal: QueryAsPrincipal,
  findPrincipal: FindPrincipal,
  replica: Replica,
): ReadReplicaAsPrincipal {
  return async (principal, statement) => {
    const { tenant, token } = principal;
    const found = replica.isCircuitOpen()
      ? undefined
      : await findPrincipal(tenant, token, { mark: true });
    if (found?.mark != null) {
      const { identity, mark } = found;
      const settings = { ...principal.settings, ...identitySettings(identity) };
      const gathered = collectText(statement);
      const read = { mark, tenant, settings, statement: gathered.statement };
      if (await replica.read(read))
        return { text: gathered.text(), secondColumn: gathered.secondColumn() };
    }
    return queryAsPrincipal.read(principal, statement);
  };
}
