import type { PoolClient } from "pg";
import type { RequestInfo } from "../auth/identity.ts";
import { checkGuard } from "../auth/guards.ts";

/** Scoped tokens are refused, even those scoped to `ai.use`. */
const assistantGuard = ["login", "ai.use"] as const;

/** Whose conversation it is. An answer outlives the request that asked for it, and never the rights of the one who did. */
export interface Caller {
  requestContext: RequestInfo;
  /** Works in a transaction in the caller's name. */
  run: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>;
  /**
   * Who the caller is at this moment, for each thing that is done in their name.
   * @throws PublicError when their login has ended or they may not use the assistant any more
   */
  now: () => Promise<RequestInfo>;
}

/** Refuses whoever may not use the assistant. @throws PublicError */
export function checkAssistant(requestContext: Pick<RequestInfo, "identity" | "hasToken">): void {
  checkGuard(assistantGuard, requestContext);
}
