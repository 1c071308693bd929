import { randomUUID } from "node:crypto";
import type { Identity, RequestInfo } from "../../src/auth/identity.ts";

/** An identity with a session and exactly these permissions. */
export function sessionWith(permissions: readonly string[]): Identity {
  return {
    userId: randomUUID(),
    sessionId: randomUUID(),
    tokenId: null,
    permissions: new Set(permissions),
    scoped: false,
  };
}

/** The request info for the main tenant, for tests without HTTP. */
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

/** The Grafast context of a request. */
export function contextOf(requestContext: RequestInfo) {
  return { expressv4: { res: { locals: { requestContext } } } } as never;
}
