import type { PoolClient } from "pg";
import type { RequestInfo } from "../auth/identity.ts";
import { checkGuard } from "../auth/guards.ts";
import type { Region } from "./prompt.ts";

/** Scoped tokens are refused, even those scoped to `ai.use`. */
const assistantGuard = ["login", "ai.use"] as const;

/** The owner of the conversation. An answer may outlive its request, but not its user's permissions. */
export interface Caller {
  requestContext: RequestInfo;
  /** Runs a transaction as the caller. */
  run: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>;
  /**
   * Returns the caller's current identity and permissions, for each action on their behalf.
   * @throws PublicError when the session has ended or the caller may no longer use the assistant
   */
  now: () => Promise<RequestInfo>;
}

/**
 * Rejects callers who may not use the assistant.
 * @throws PublicError
 */
export function requireAssistantAccess(
  requestContext: Pick<RequestInfo, "identity" | "hasToken">,
): void {
  checkGuard(assistantGuard, requestContext);
}

/** The time zone and the locale of the caller, by default those of the office. */
export async function regionOf({ run }: Caller): Promise<Region> {
  const { rows } = await run((client) =>
    client.query<Region>(`select own_time_zone() as "timeZone", own_locale() as locale`),
  );
  return rows[0] ?? { timeZone: "UTC", locale: "en-GB" };
}
