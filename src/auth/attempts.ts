import type { Pool } from "pg";
import { PublicError } from "../errors/PublicError.ts";
import { currentScope } from "../context/requestScope.ts";
import type { RequestInfo } from "./identity.ts";
import { hashToken } from "./tokens.ts";

/** Where someone who is not logged in yet can try: each is counted by itself. */
export type LoginStep =
  "bootstrapFirstUser" | "devLogin" | "exchangeLoginCode" | "login" | "callback";

/** Whose attempt it is. What is left out is not known yet, or was counted before. */
export interface AttemptSubject {
  /** The address that the request comes from. */
  address?: string;
  /** An e-mail address as typed, or what a provider knows the person by. */
  account?: string;
  /** A login code, whose user is the account; one that is unknown names nobody. */
  code?: string;
}

/**
 * Counts an attempt at a step of logging in before anything comes of it, for the address and for the account. It counts
 * whatever becomes of it.
 * @throws PublicError `RATE_LIMITED` with `retryAfter` in seconds, when either has had its attempts of the minute
 */
export type CountAttempt = (
  info: Pick<RequestInfo, "tenant">,
  step: LoginStep,
  subject: AttemptSubject,
) => Promise<void>;

/** Counts in the database, where all server processes share the count; `pool` acts as `office_server`. */
export function makeAttemptCounter(pool: Pool, perMinute: number): CountAttempt {
  return async ({ tenant }, step, { address = null, account = null, code }) => {
    // One statement on a connection of its own: the login's transaction, rolled back or not, does not take the count with it.
    const { rows } = await pool.query<{ seconds: number }>(
      `select "${tenant}".count_attempt($1, $2, coalesce($3, "${tenant}".login_code_account($5)), $4) as seconds`,
      [step, address, account, perMinute, code === undefined ? null : hashToken(code)],
    );
    const retryAfter = rows[0]?.seconds ?? 0;
    if (retryAfter === 0) return;
    // In the log and not in the audit log, which a flood of attempts must not fill.
    currentScope()?.log.warn({ step, retryAfter }, "too many attempts to log in");
    const unit = retryAfter === 1 ? "second" : "seconds";
    throw new PublicError(
      "RATE_LIMITED",
      `Too many attempts to log in: try again in ${retryAfter} ${unit}`,
      { retryAfter },
    );
  };
}
