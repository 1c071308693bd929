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

/** Who asks: by which token, in which tenant. */
export interface Principal {
  token: TokenHash;
  tenant: string;
  /** All settings but those of who it is. */
  settings: Settings;
}

/** Statements one after the other, of which the last has an answer. */
export interface Statements {
  prelude: readonly PreludeStatement[];
  answer: TextStatement;
}

/** Runs statements as whoever holds the token at that moment, and gives what the last one says. */
export interface QueryAsPrincipal {
  (principal: Principal, statements: Statements): Promise<TextAnswer>;
  /** One statement that changes nothing but the audit log, and waits for no lock. */
  read: (principal: Principal, statement: TextStatement) => Promise<TextAnswer>;
}

/** The sharedConnections of requests. Changes wait for each other's locks, and have their own, so that no read waits with them. */
export interface RequestConnections {
  reads: SharedConnections;
  changes: SharedConnections;
}

/** The database, and how to find out there who holds a token. */
export interface PrincipalOptions extends ClientOptions {
  /** How long a session lives that nobody uses. */
  idleHours: number;
}

/**
 * Finds out who holds a token, takes their rights and runs statements under them: one round trip, one transaction, and nothing of
 * it is left on the connection or kept in this process. What fails has changed nothing, unless the connection broke.
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
      const { statement, text, beside } = gather(answer);
      await runPipelined(client, [identity], [...prelude, statement], prepared);
      return { text: text(), beside: beside() };
    };
  };
  const runIn =
    (own: SharedConnections) => async (principal: Principal, statements: Statements) => {
      const work = prepare(principal, statements);
      const { name } = statements.answer;
      // A pooler gives each message a connection of its choice.
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

/** Who holds a token, as the settings that say so, and the mark that a replica must have come to for what they ask. */
export interface FoundPrincipal {
  settings: Settings;
  /** Null where there is none, since the database is no primary. */
  mark: string | null;
}

/** Finds out who holds a token at that moment without doing anything for them. */
export type FindPrincipal = (principal: Principal) => Promise<FoundPrincipal>;

export function makeFindPrincipal(pool: Pool, options: PrincipalOptions): FindPrincipal {
  return async ({ token, tenant, settings }) => {
    const { kind } = token;
    const who = {
      // Where nothing is kept prepared, there are many tenants on one connection.
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

/** What a function that looks a token up is given. */
function tokenParameters(
  { kind, hash }: TokenHash,
  { idleHours }: PrincipalOptions,
): PreludeStatement["values"] {
  return [hash, ...(kind === "session" ? [String(idleHours)] : [])];
}

/** The login role has no search path of its own; the tenant's name was checked when the tenant was resolved. */
function entry(tenant: string, kind: TokenKind): string {
  return kind === "session"
    ? `"${tenant}".enter_with_session($1, $2::integer)`
    : `"${tenant}".enter_with_api_token($1)`;
}

/** Tells who it is, with the mark. */
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
