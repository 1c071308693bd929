import { randomUUID } from "node:crypto";
import type { Identity, RequestInfo } from "../../src/auth/identity.ts";

/** Someone with a session who holds exactly these permissions. */
export function sessionWith(permissions: readonly string[]): Identity {
  return {
    userId: randomUUID(),
    sessionId: randomUUID(),
    tokenId: null,
    permissions: new Set(permissions),
    scoped: false,
  };
}

/** What is known of a request to the main tenant, for tests that ask without HTTP. */
export function requestOf(identity: Identity | null): RequestInfo {
  return {
    identity,
    hasToken: identity !== null,
    tenant: "backoffice",
    testRunId: null,
    correlationId: "test",
    ipAddress: "192.0.2.1",
    userAgent: "jest",
  };
}

/** The same as Grafast is given it. */
export function contextOf(requestContext: RequestInfo) {
  return { expressv4: { res: { locals: { requestContext } } } } as never;
}
