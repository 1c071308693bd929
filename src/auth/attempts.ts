import type { Pool } from "pg";
import { PublicError } from "../errors/PublicError.ts";
import { currentScope } from "../context/requestScope.ts";
import type { RequestInfo } from "./identity.ts";
import { hashToken } from "./tokens.ts";

/** A step of logging in; each is counted separately. */
export type LoginStep =
  "bootstrapFirstUser" | "devLogin" | "exchangeLoginCode" | "login" | "callback";

/** Whose attempt it is. Missing fields are not known yet, or were counted before. */
export interface AttemptSubject {
  /** The address of the request. */
  address?: string;
  /** An e-mail address as typed, or the provider's subject. */
  account?: string;
  /** A login code, whose user is the account; an unknown one has none. */
  code?: string;
}

/**
 * Counts a login attempt for the address and for the account, before the step runs and regardless of its outcome.
 * @throws PublicError `RATE_LIMITED` with `retryAfter` in seconds, when either is over its limit per minute
 */
export type CountAttempt = (
  info: Pick<RequestInfo, "tenant">,
  step: LoginStep,
  subject: AttemptSubject,
) => Promise<void>;

/** Counts in the database, which all servers share; `pool` acts as `office_server`. */
export function makeAttemptCounter(pool: Pool, perMinute: number): CountAttempt {
  return async ({ tenant }, step, { address = null, account = null, code }) => {
    // Outside the login's transaction, so that a rollback keeps the count.
    const { rows } = await pool.query<{ seconds: number }>(
      `select "${tenant}".count_attempt($1, $2, coalesce($3, "${tenant}".login_code_account($5)), $4) as seconds`,
      [step, address, account, perMinute, code === undefined ? null : hashToken(code)],
    );
    const retryAfter = rows[0]?.seconds ?? 0;
    if (retryAfter === 0) return;
    // Logged, not audited: a flood of attempts must not fill the audit log.
    currentScope()?.log.warn({ step, retryAfter }, "too many attempts to log in");
    const unit = retryAfter === 1 ? "second" : "seconds";
    throw new PublicError(
      "RATE_LIMITED",
      `Too many attempts to log in: try again in ${retryAfter} ${unit}`,
      { retryAfter },
    );
  };
}
