import type { RequestInfo } from "./identity.ts";
import { badUserInput } from "../errors/PublicError.ts";

/**
 * A login changes the identity for the rest of its operation. Within a request of a known caller, such as an approved
 * tool call of the assistant, the operation would be checked as one user and recorded as another. Requests that log in
 * have no caller.
 * @throws PublicError
 */
export function refuseSecondLogin(requestContext: RequestInfo): void {
  if (requestContext.identity)
    throw badUserInput("A request of a logged-in user cannot log in another one");
}
