import type { Pool } from "pg";
import { hashToken, type TokenKind, tokenKind } from "../auth/tokens.ts";
import { makeReady, runSettled, type Settings } from "./requestClient.ts";
import type { Ahead, Statement } from "./SettledQuery.ts";

/** Who asks: by which token, in which area. */
export interface Asker {
  token: string;
  area: string;
  /** All settings but those of who it is. */
  settings: Settings;
}

/** Statements one after the other, of which the last has an answer. */
export type Statements = readonly [...Ahead[], Statement];

/** Runs statements as whoever holds the token at that moment; the first value of the last one's first row, if it has one. */
export type RunAs = (asker: Asker, statements: Statements) => Promise<string | undefined>;

/**
 * Finds out who holds a token, takes their rights and runs statements under them: one round trip, one transaction, and nothing of
 * it is left on the connection or kept in this process. What fails has changed nothing, unless the connection broke.
 */
export function makeRunAs(pool: Pool, options: { prepared: number; idleHours: number }): RunAs {
  const { prepared } = options;
  const idleHours = String(options.idleHours);
  return async ({ token, area, settings }, statements) => {
    const kind = tokenKind(token);
    // Nobody holds it.
    if (!kind) return undefined;
    const identity = {
      // Where nothing is kept prepared, there are many areas on one connection.
      ...(prepared > 0 ? { name: `office_${kind}` } : {}),
      text: identify(area, kind),
      values: [
        hashToken(token),
        ...(kind === "session" ? [idleHours] : []),
        JSON.stringify(settings),
      ],
    };
    const client = await pool.connect();
    try {
      await makeReady(client, options);
      const { rows } = await runSettled<Record<string, string>>(
        client,
        [identity],
        statements,
        prepared,
      );
      return Object.values(rows[0] ?? {})[0];
    } finally {
      client.release();
    }
  };
}

/** The login role has no search path of its own; the area's name was checked when the area was resolved. */
function identify(area: string, kind: TokenKind): string {
  const [call, id] =
    kind === "session"
      ? ["authenticate($1, $2::integer)", "session_id"]
      : ["authenticate_api_token($1)", "token_id"];
  const idOf = (name: string) => (name === id ? `coalesce(who.${id}::text, '')` : "''");
  return `select set_config('office.user_id', coalesce(who.user_id::text, ''), true),
      set_config('office.permissions', coalesce(array_to_string(who.permissions, ','), ''), true),
      set_config('office.scoped', coalesce(who.scoped, false)::text, true),
      set_config('office.session_id', ${idOf("session_id")}, true),
      set_config('office.token_id', ${idOf("token_id")}, true),
      (select count(set_config(s.name, s.value, true)) from json_each_text($${kind === "session" ? 3 : 2}) as s(name, value))
    from (select) as always left join "${area}".${call} as who on true`;
}
