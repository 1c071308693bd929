import type { RequestInfo } from "../auth/identity.ts";
import { OfficeError } from "../errors.ts";

/**
 * A login makes the rest of its operation act for the user who logs in. A request that is logged in already would then act for
 * two: judged as one and recorded as the other. @throws OfficeError
 */
export function refuseSecondLogin(office: RequestInfo): void {
  if (office.identity)
    throw new OfficeError(
      "BAD_USER_INPUT",
      "This request is logged in already: send it without the Authorization header",
      { header: "Authorization" },
    );
}
