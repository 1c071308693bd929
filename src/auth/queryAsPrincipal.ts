import type { Pool, PoolClient } from "pg";
import type { TokenHash, TokenKind } from "./tokens.ts";
import type { SharedConnections } from "../postgres/sharedConnections.ts";
import {
  type ClientOptions,
  isPrepared,
  prepareConnection,
  runPipelined,
} from "../postgres/requestClient.ts";
import type { PreludeStatement } from "../postgres/PipelinedQuery.ts";
import { type Settings, setLocalStatement } from "../postgres/setLocalStatement.ts";
import { collectText, type TextAnswer, type TextStatement } from "../postgres/textAnswer.ts";

/** The caller: a token and a tenant schema. */
export interface Principal {
  token: TokenHash;
  tenant: string;
  /** All settings but the identity. */
  settings: Settings;
}

/** Statements in order; the last one returns the result. */
export interface Statements {
  prelude: readonly PreludeStatement[];
  answer: TextStatement;
}

/** Runs statements with the token's current permissions and returns the result of the last. */
export interface QueryAsPrincipal {
  (principal: Principal, statements: Statements): Promise<TextAnswer>;
  /** Runs one statement that writes audit records at most and waits for no lock. */
  read: (principal: Principal, statement: TextStatement) => Promise<TextAnswer>;
}

/** Shared connections of requests. Mutations wait for locks, so they have their own and delay no read. */
export interface RequestConnections {
  reads: SharedConnections;
  changes: SharedConnections;
}

/** The database, and options of the token look-up. */
export interface PrincipalOptions extends ClientOptions {
  /** Idle time of a session in hours. */
  idleHours: number;
}

/**
 * Looks a token up, sets its permissions and runs statements, in one round trip and one transaction. Nothing remains on
 * the connection or in this process. An error means that nothing changed, unless the connection broke.
 */
export function makeQueryAsPrincipal(
  pool: Pool,
  sharedConnections: RequestConnections,
  options: PrincipalOptions,
): QueryAsPrincipal {
  const { prepared } = options;
  const prepare = ({ token, tenant, settings }: Principal, { prelude, answer }: Statements) => {
    const call = {
      text: lookUpFunction(tenant, token.kind),
      values: tokenParameters(token, options),
    };
    const identity = setLocalStatement(settings, call, prepared);
    return async (client: PoolClient) => {
      if (!isPrepared(client)) await prepareConnection(client);
      const { statement, text, secondColumn } = collectText(answer);
      await runPipelined(client, [identity], [...prelude, statement], prepared);
      return { text: text(), secondColumn: secondColumn() };
    };
  };
  const runIn =
    (own: SharedConnections) => async (principal: Principal, statements: Statements) => {
      const work = prepare(principal, statements);
      const { name } = statements.answer;
      // Behind a pooler each message may use another connection.
      if (prepared > 0 && name !== undefined) return own.run(name, work);
      const client = await pool.connect();
      try {
        return await work(client);
      } finally {
        client.release();
      }
    };
  const read = runIn(sharedConnections.reads);
  return Object.assign(runIn(sharedConnections.changes), {
    read: (principal: Principal, statement: TextStatement) =>
      read(principal, { prelude: [], answer: statement }),
  });
}

/** The parameters of the token look-up. */
export function tokenParameters(
  { kind, hash }: TokenHash,
  { idleHours }: PrincipalOptions,
): PreludeStatement["values"] {
  return [hash, ...(kind === "session" ? [String(idleHours)] : [])];
}

/** The login role has no search path; the tenant's name was validated when it was resolved. */
function lookUpFunction(tenant: string, kind: TokenKind): string {
  return kind === "session"
    ? `"${tenant}".enter_with_session($1, $2::integer)`
    : `"${tenant}".enter_with_api_token($1)`;
}
