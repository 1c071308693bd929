import type { Pool, PoolClient } from "pg";
import type { TokenHash, TokenKind } from "../auth/tokens.ts";
import type { Lanes } from "./lanes.ts";
import { type ClientOptions, isReady, makeReady, runSettled } from "./requestClient.ts";
import type { Ahead } from "./SettledQuery.ts";
import { type Settings, settingAhead } from "./settingAhead.ts";
import { gather, type TextAnswer, type TextStatement } from "./textAnswer.ts";

/** Who asks: by which token, in which area. */
export interface Asker {
  token: TokenHash;
  area: string;
  /** All settings but those of who it is. */
  settings: Settings;
}

/** Statements one after the other, of which the last has an answer. */
export interface Statements {
  ahead: readonly Ahead[];
  answer: TextStatement;
}

/** Runs statements as whoever holds the token at that moment, and gives what the last one says. */
export interface RunAs {
  (asker: Asker, statements: Statements): Promise<TextAnswer>;
  /** One statement that changes nothing but the audit log, and waits for no lock. */
  read: (asker: Asker, statement: TextStatement) => Promise<TextAnswer>;
}

/** The lanes of requests. Changes wait for each other's locks, and have their own, so that no read waits with them. */
export interface RequestLanes {
  reads: Lanes;
  changes: Lanes;
}

/** The database, and how to find out there who holds a token. */
export interface RunAsOptions extends ClientOptions {
  /** How long a session lives that nobody uses. */
  idleHours: number;
}

/**
 * Finds out who holds a token, takes their rights and runs statements under them: one round trip, one transaction, and nothing of
 * it is left on the connection or kept in this process. What fails has changed nothing, unless the connection broke.
 */
export function makeRunAs(pool: Pool, lanes: RequestLanes, options: RunAsOptions): RunAs {
  const { prepared } = options;
  const prepare = ({ token, area, settings }: Asker, { ahead, answer }: Statements) => {
    const call = { text: entry(area, token.kind), values: given(token, options) };
    const identity = settingAhead(settings, call, prepared);
    return async (client: PoolClient) => {
      if (!isReady(client)) await makeReady(client);
      const { statement, text, beside } = gather(answer);
      await runSettled(client, [identity], [...ahead, statement], prepared);
      return { text: text(), beside: beside() };
    };
  };
  const runIn = (own: Lanes) => async (asker: Asker, statements: Statements) => {
    const work = prepare(asker, statements);
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
  const read = runIn(lanes.reads);
  return Object.assign(runIn(lanes.changes), {
    read: (asker: Asker, statement: TextStatement) => read(asker, { ahead: [], answer: statement }),
  });
}

/** Who holds a token, as the settings that say so, and the mark that a replica must have come to for what they ask. */
export interface Found {
  settings: Settings;
  /** Null where there is none, since the database is no primary. */
  mark: string | null;
}

/** Finds out who holds a token at that moment without doing anything for them. */
export type FindAsker = (asker: Asker) => Promise<Found>;

export function makeFindAsker(pool: Pool, options: RunAsOptions): FindAsker {
  return async ({ token, area, settings }) => {
    const { kind } = token;
    const who = {
      // Where nothing is kept prepared, there are many areas on one connection.
      ...(options.prepared > 0 ? { name: `office_find_${kind}` } : {}),
      text: search(area, kind),
      values: given(token, options),
    };
    const client = await pool.connect();
    try {
      await makeReady(client);
      const { rows } = await runSettled<Settings & { mark: string | null }>(
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
function given({ kind, hash }: TokenHash, { idleHours }: RunAsOptions): Ahead["values"] {
  return [hash, ...(kind === "session" ? [String(idleHours)] : [])];
}

/** The login role has no search path of its own; the area's name was checked when the area was resolved. */
function entry(area: string, kind: TokenKind): string {
  return kind === "session"
    ? `"${area}".enter_with_session($1, $2::integer)`
    : `"${area}".enter_with_api_token($1)`;
}

/** Tells who it is, with the mark. */
function search(area: string, kind: TokenKind): string {
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
      "${area}".write_mark() as mark
    from (select) as always left join "${area}".${call} as who on true`;
}
