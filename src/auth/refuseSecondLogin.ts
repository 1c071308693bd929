import type { RequestInfo } from "./identity.ts";
import { badUserInput } from "../errors/PublicError.ts";

/**
 * A login makes the rest of its operation act for the user who logs in. One done in the name of someone, as the assistant does
 * what its user agreed to, would then act for two: judged as one and recorded as the other. Requests that log in come as nobody's.
 * @throws PublicError
 */
export function refuseSecondLogin(requestContext: RequestInfo): void {
  if (requestContext.identity)
    throw badUserInput("Nobody can be logged in by what is done for a user");
}
