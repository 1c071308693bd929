import type { Pool } from "pg";
import type { Config } from "../../config.ts";
import type { RequestInfo, RequestSettings } from "../identity.ts";
import { inRequestTransaction } from "../requestTransaction.ts";
import { hashToken } from "../tokens.ts";
import type { AttemptSecrets } from "./LoginStrategy.ts";
import type { Person } from "./readPerson.ts";

/** The target of the browser after the login. */
export interface Destination {
  /** The id of the provider. */
  provider: string;
  /** The allow-listed address of the front end. */
  returnTo: string;
  /** SHA-256 (base64url) of the front end's verifier; null when it sent none. */
  challenge: string | null;
}

/** The steps of a login in the database, which all servers share. */
export interface LoginStore {
  /** Stores an attempt for the browser with the cookie value `browser`. */
  begin(
    info: RequestInfo,
    browser: string,
    attempt: AttemptSecrets,
    destination: Destination,
  ): Promise<void>;
  /**
   * Returns a stored attempt once; null for a state that is unknown, used, expired, or of another browser or provider.
   */
  take(
    info: RequestInfo,
    browser: string,
    provider: string,
    state: string,
  ): Promise<{ attempt: AttemptSecrets; destination: Destination } | null>;
  /** Completes the login and makes `code` valid, or returns the reason of a refusal. */
  complete(
    info: RequestInfo,
    person: Person,
    code: string,
    destination: Destination,
  ): Promise<string | null>;
  /**
   * Opens a session with `token` for the code of a completed login. False for a used or expired code, and for a user who
   * has been deactivated since.
   */
  open(info: RequestInfo, code: string, destination: Destination, token: string): Promise<boolean>;
}

/** @param session the limits of the sessions that the store opens */
export function makeLoginStore(
  pool: Pool,
  settings: RequestSettings,
  session: Config["session"],
): LoginStore {
  /** Runs a statement in a transaction with the request's details for the audit log. */
  function run<Row extends object>(
    info: RequestInfo,
    text: string,
    values: unknown[],
    as: "caller" | "server" = "server",
  ): Promise<Row[]> {
    return inRequestTransaction(pool, info, settings, as, async (client) => {
      const { rows } = await client.query<Row>(text, values);
      return rows;
    });
  }

  return {
    async begin(info, browser, attempt, { provider, returnTo, challenge }) {
      await run(info, "select begin_login($1, $2, $3, $4, $5, $6, $7)", [
        hashToken(attempt.state),
        hashToken(browser),
        provider,
        attempt.nonce,
        attempt.pkceVerifier,
        returnTo,
        challenge,
      ]);
    },

    async take(info, browser, provider, state) {
      const [row] = await run<{
        nonce: string;
        pkce_verifier: string;
        return_to: string;
        challenge: string | null;
      }>(info, "select * from take_login_attempt($1, $2, $3)", [
        hashToken(state),
        hashToken(browser),
        provider,
      ]);
      if (!row) return null;
      return {
        attempt: { state, nonce: row.nonce, pkceVerifier: row.pkce_verifier },
        destination: { provider, returnTo: row.return_to, challenge: row.challenge },
      };
    },

    async complete(info, person, code, { provider, returnTo, challenge }) {
      const [row] = await run<{ refused: string | null }>(
        info,
        "select complete_login($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as refused",
        [
          provider,
          person.issuer,
          person.subject,
          person.email,
          person.emailVerified,
          person.name,
          person.picture,
          hashToken(code),
          returnTo,
          challenge,
        ],
      );
      return row?.refused ?? null;
    },

    async open(info, code, { returnTo, challenge }, token) {
      const rows = await run(
        info,
        "select from exchange_login_code($1, $2, $3, $4, $5, $6)",
        [
          hashToken(code),
          returnTo,
          challenge,
          hashToken(token),
          session.idleHours,
          session.maxDays,
        ],
        "caller",
      );
      return rows.length > 0;
    },
  };
}
