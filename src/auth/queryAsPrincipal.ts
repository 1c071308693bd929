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
import { gather, type TextAnswer, type TextStatement } from "../postgres/textAnswer.ts";

/** Who calls: a token and a tenant schema. */
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
    const call = { text: entry(tenant, token.kind), values: tokenParameters(token, options) };
    const identity = setLocalStatement(settings, call, prepared);
    return async (client: PoolClient) => {
      if (!isPrepared(client)) await prepareConnection(client);
      const { statement, text, secondColumn } = gather(answer);
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

/** The identity as settings, and the mark that a replica must have replayed. */
export interface FoundPrincipal {
  settings: Settings;
  /** Null where the database is not a primary. */
  mark: string | null;
}

/** Looks a token up without running anything else. */
export type FindPrincipal = (principal: Principal) => Promise<FoundPrincipal>;

export function makeFindPrincipal(pool: Pool, options: PrincipalOptions): FindPrincipal {
  return async ({ token, tenant, settings }) => {
    const { kind } = token;
    const who = {
      // Without prepared statements one connection serves many tenant schemas.
      ...(options.prepared > 0 ? { name: `office_find_${kind}` } : {}),
      text: search(tenant, kind),
      values: tokenParameters(token, options),
    };
    const client = await pool.connect();
    try {
      await prepareConnection(client);
      const { rows } = await runPipelined<Settings & { mark: string | null }>(
        client,
        [],
        [who],
        options.prepared,
      );
      const { mark = null, ...found } = rows[0] ?? {};
      return { settings: { ...settings, ...found }, mark };
    } finally {
      client.release();
    }
  };
}

/** The parameters of the token look-up. */
function tokenParameters(
  { kind, hash }: TokenHash,
  { idleHours }: PrincipalOptions,
): PreludeStatement["values"] {
  return [hash, ...(kind === "session" ? [String(idleHours)] : [])];
}

/** The login role has no search path; the tenant's name was validated when it was resolved. */
function entry(tenant: string, kind: TokenKind): string {
  return kind === "session"
    ? `"${tenant}".enter_with_session($1, $2::integer)`
    : `"${tenant}".enter_with_api_token($1)`;
}

/** Selects the identity and the mark. */
function search(tenant: string, kind: TokenKind): string {
  const [call, id] =
    kind === "session"
      ? ["authenticate($1, $2::integer)", "session_id"]
      : ["authenticate_api_token($1)", "token_id"];
  const idOf = (name: string) => (name === id ? `coalesce(who.${id}::text, '')` : "''");
  return `select coalesce(who.user_id::text, '') as "office.user_id",
      coalesce(array_to_string(who.permissions, ','), '') as "office.permissions",
      coalesce(who.scoped, false)::text as "office.scoped",
      ${idOf("session_id")} as "office.session_id",
      ${idOf("token_id")} as "office.token_id",
      "${tenant}".write_mark() as mark
    from (select) as always left join "${tenant}".${call} as who on true`;
}
