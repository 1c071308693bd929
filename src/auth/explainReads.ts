import { currentScope } from "../context/requestScope.ts";
import type { WithRequestClient } from "../postgres/service.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import type { FindPrincipal } from "./findPrincipal.ts";
import { identitySettings } from "./identity.ts";
import type { Principal, QueryAsPrincipal } from "./queryAsPrincipal.ts";

class Explained extends Error {}

/**
 * Logs the plan of each read after its answer, with the caller's policies. `explain analyze` runs the statement once
 * more, in a transaction that is rolled back, so that its audit records are written once.
 */
export function explainReads(
  query: QueryAsPrincipal,
  findPrincipal: FindPrincipal,
  withClient: WithRequestClient,
): QueryAsPrincipal {
  const explain = async (principal: Principal, { text, values = [] }: TextStatement) => {
    const { identity } = await findPrincipal(principal.tenant, principal.token);
    const settings = { ...principal.settings, ...identitySettings(identity) };
    const transaction = withClient(settings, (client) =>
      client.withTransaction(async (inner) => {
        const statement = { text: `explain (analyze, buffers) ${text}`, values };
        const { rows } = await inner.query<{ "QUERY PLAN": string }>(statement);
        const plan = rows.map((row) => row["QUERY PLAN"]);
        currentScope()?.log.info({ sql: text, plan }, "sql statement explained");
        throw new Explained();
      }),
    );
    await transaction.catch((error: unknown) => {
      if (!(error instanceof Explained)) throw error;
    });
  };
  const asPrincipal: QueryAsPrincipal = Object.assign(
    (...asked: Parameters<QueryAsPrincipal>) => query(...asked),
    {
      read: async (principal: Principal, statement: TextStatement) => {
        const answer = await query.read(principal, statement);
        await explain(principal, statement);
        return answer;
      },
    },
  );
  return asPrincipal;
}
