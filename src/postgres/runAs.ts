import type { Pool } from "pg";
import { hashToken, tokenKind } from "../auth/tokens.ts";
import { type ClientOptions, makeReady, runSettled, type Settings } from "./requestClient.ts";
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

/** The database, and how to find out there who holds a token. */
export interface RunAsOptions extends ClientOptions {
  /** How long a session lives that nobody uses. */
  idleHours: number;
}

/**
 * Finds out who holds a token, takes their rights and runs statements under them: one round trip, one transaction, and nothing of
 * it is left on the connection or kept in this process. What fails has changed nothing, unless the connection broke.
 */
export function makeRunAs(pool: Pool, options: RunAsOptions): RunAs {
  const { prepared } = options;
  return async (asker, statements) => {
    const who = identify(asker, options, taking(asker));
    // Nobody holds it.
    if (!who) return undefined;
    const client = await pool.connect();
    try {
      await makeReady(client, options);
      const { rows } = await runSettled<Record<string, string>>(
        client,
        [who],
        statements,
        prepared,
      );
      return Object.values(rows[0] ?? {})[0];
    } finally {
      client.release();
    }
  };
}

/** Who holds a token, as the settings that say so, and the mark that a replica must have come to for what they ask. */
export interface Found {
  settings: Settings;
  /** Null where there is none, since the database is no primary. */
  mark: string | null;
}

/** Finds out who holds a token at that moment without doing anything for them; undefined where nobody can. */
export type FindAsker = (asker: Asker) => Promise<Found | undefined>;

export function makeFindAsker(pool: Pool, options: RunAsOptions): FindAsker {
  return async (asker) => {
    const who = identify(asker, options, telling(asker));
    if (!who) return undefined;
    const client = await pool.connect();
    try {
      await makeReady(client, options);
      const { rows } = await runSettled<Settings & { mark: string | null }>(
        client,
        [],
        [who],
        options.prepared,
      );
      const { mark = null, ...found } = rows[0] ?? {};
      return { settings: { ...asker.settings, ...found }, mark };
    } finally {
      client.release();
    }
  };
}

/** What of the caller becomes which setting. */
interface Way {
  name: string;
  /** The selected columns, of `who` and the parameters after the `given` ones. */
  columns: (idOf: (name: string) => string, given: number) => string;
  values: string[];
}

/** Puts them in force. */
function taking({ settings }: Asker): Way {
  return {
    name: "office",
    columns: (idOf, given) => `${who(idOf)
      .map(([name, value]) => `set_config('${name}', ${value}, true)`)
      .join(", ")},
      (select count(set_config(s.name, s.value, true)) from json_each_text($${given + 1}) as s(name, value))`,
    values: [JSON.stringify(settings)],
  };
}

/** Tells them, with the mark. */
function telling({ area }: Asker): Way {
  return {
    name: "office_find",
    columns: (idOf) =>
      `${who(idOf)
        .map(([name, value]) => `${value} as "${name}"`)
        .join(", ")}, "${area}".write_mark() as mark`,
    values: [],
  };
}

function who(idOf: (name: string) => string): [name: string, value: string][] {
  return [
    ["office.user_id", "coalesce(who.user_id::text, '')"],
    ["office.permissions", "coalesce(array_to_string(who.permissions, ','), '')"],
    ["office.scoped", "coalesce(who.scoped, false)::text"],
    ["office.session_id", idOf("session_id")],
    ["office.token_id", idOf("token_id")],
  ];
}

/** The login role has no search path of its own; the area's name was checked when the area was resolved. */
function identify({ token, area }: Asker, options: RunAsOptions, way: Way): Ahead | undefined {
  const kind = tokenKind(token);
  if (!kind) return undefined;
  const [call, id] =
    kind === "session"
      ? ["authenticate($1, $2::integer)", "session_id"]
      : ["authenticate_api_token($1)", "token_id"];
  const idOf = (name: string) => (name === id ? `coalesce(who.${id}::text, '')` : "''");
  const given = [hashToken(token), ...(kind === "session" ? [String(options.idleHours)] : [])];
  return {
    // Where nothing is kept prepared, there are many areas on one connection.
    ...(options.prepared > 0 ? { name: `${way.name}_${kind}` } : {}),
    text: `select ${way.columns(idOf, given.length)}
      from (select) as always left join "${area}".${call} as who on true`,
    values: [...given, ...way.values],
  };
}
