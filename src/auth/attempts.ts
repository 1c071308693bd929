import type { Pool } from "pg";
import { OfficeError } from "../errors.ts";
import { currentScope } from "../http/requestScope.ts";
import type { RequestInfo } from "./identity.ts";

/** Where someone who is not logged in yet can try: each is counted by itself. */
export type LoginStep =
  "bootstrapFirstUser" | "devLogin" | "exchangeLoginCode" | "login" | "callback";

/**
 * Counts an attempt at a step of logging in before anything is looked at: for the address that the request comes from, and for
 * the account that it names (an e-mail address as typed; null where there is none). It counts whatever becomes of it.
 * @throws OfficeError `RATE_LIMITED` with `retryAfter` in seconds, when either has had its attempts of the minute
 */
export type CountAttempt = (
  info: Pick<RequestInfo, "area" | "ipAddress">,
  step: LoginStep,
  account: string | null,
) => Promise<void>;

/** Counts in the database, where all server processes share the count; `pool` acts as `office_server`. */
export function makeAttemptCounter(pool: Pool, perMinute: number): CountAttempt {
  return async ({ area, ipAddress }, step, account) => {
    // One statement on a connection of its own: the login's transaction, rolled back or not, does not take the count with it.
    const { rows } = await pool.query<{ seconds: number }>(
      `select "${area}".count_attempt($1, $2, $3, $4) as seconds`,
      [step, ipAddress, account, perMinute],
    );
    const retryAfter = rows[0]?.seconds ?? 0;
    if (retryAfter === 0) return;
    // In the log and not in the audit log, which a flood of attempts must not fill.
    currentScope()?.log.warn({ step, retryAfter }, "too many attempts to log in");
    const unit = retryAfter === 1 ? "second" : "seconds";
    throw new OfficeError(
      "RATE_LIMITED",
      `Too many attempts to log in: try again in ${retryAfter} ${unit}`,
      { retryAfter },
    );
  };
}
