import type { Request, RequestHandler, Response } from "express";
import type { Pool } from "pg";
import { type Tenants, parseTestRunId } from "../tenants/tenants.ts";
import { authenticate, authenticateWithMark, bearerCredential } from "../auth/authenticate.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { type TokenHash, withoutTokens } from "../auth/tokens.ts";
import { PublicError, UnauthenticatedError } from "../errors/PublicError.ts";
import { addressOf } from "./addressOf.ts";
import { idempotencyKeyOf } from "./idempotencyKey.ts";
import { currentScope } from "../context/requestScope.ts";

declare global {
  namespace Express {
    interface Locals {
      requestContext?: RequestInfo;
      /** The bearer token of a request whose sender is not known yet; null where there is none that could mean something. */
      token?: TokenHash | null;
      /** Whether the operation that is asked for is nobody's, whatever token comes with it. */
      isNobodys?: boolean;
    }
  }
}

/** What the finding out of a request's tenant and identity needs. */
export interface RequestInfoOptions {
  pool: Pool;
  mainTenant: string;
  /** Null when test mode is off: then the header is refused on every operation. */
  tenants: Tenants | null;
  idleHours: number;
  /** Tells of requests that a replica may answer: they get a mark. */
  maySkipPrimary?: (request: Request) => boolean;
}

/**
 * How a request uses the schema of the test run that it names: `create` makes it when it is missing, `existing` works in one
 * that is there, `none` leaves it alone.
 */
export type TenantUse = "create" | "existing" | "none";

/**
 * Finds out which tenant a request works in and who sends it, and leaves both in `response.locals.office`. It never creates a
 * test tenant: no token can be valid in one that does not exist.
 */
export function readRequestContext(options: RequestInfoOptions): RequestHandler[] {
  return [requestTenant(options, () => "existing"), requestIdentity(options)];
}

/** The first half of `requestInfo`: all but who it is. The token is left in `response.locals.token`. */
export function requestTenant(
  options: RequestInfoOptions,
  useOf: (request: Request, locals: Express.Locals) => TenantUse,
): RequestHandler {
  return async (request, { locals }, next) => {
    const idempotency = idempotencyKeyOf(request);
    const testRunId = testRunOf(request, options.tenants);
    const scope = currentScope();
    if (scope) scope.inTestRun = testRunId !== null;
    const testTenant =
      testRunId !== null && options.tenants
        ? await tenantOf(testRunId, options.tenants, useOf(request, locals))
        : null;
    const tenant = testTenant ?? options.mainTenant;
    // Tokens belong to one schema: without the test run's, the request is anonymous.
    const isOpen = testRunId === null || testTenant !== null;
    const { token, isSent } = bearerCredential(request.rawHeaders);
    // Logging in needs no token, and is done as nobody where one is sent all the same, as clients do that send it always.
    const counts = !locals.isNobodys;
    locals.token = isOpen && counts ? token : null;
    locals.requestContext = {
      identity: null,
      hasToken: isSent && counts,
      tenant,
      testRunId,
      correlationId: scope?.correlationId ?? "",
      ipAddress: addressOf(request),
      // A token sent here by mistake would stand in the audit log.
      userAgent: withoutTokens((request.headers["user-agent"] ?? "").slice(0, 500)),
      idempotency,
    };
    next();
  };
}

function tenantOf(testRunId: string, tenants: Tenants, use: TenantUse): Promise<string | null> {
  switch (use) {
    case "create":
      return tenants.forTestRun(testRunId);
    case "existing":
      return tenants.existing(testRunId);
    case "none":
      return Promise.resolve(null);
  }
}

/** The second half of `requestInfo`: who it is. */
export function requestIdentity(options: RequestInfoOptions): RequestHandler {
  const { pool, idleHours, maySkipPrimary } = options;
  return async (request, { locals }, next) => {
    const { requestContext, token } = locals;
    if (requestContext && token && maySkipPrimary?.(request))
      locals.requestContext = {
        ...requestContext,
        ...(await authenticateWithMark(pool, requestContext.tenant, token, idleHours)),
      };
    else if (requestContext && token)
      locals.requestContext = {
        ...requestContext,
        identity: await authenticate(pool, requestContext.tenant, token, idleHours),
      };
    next();
  };
}

/**
 * Has a long request's sender looked up before its variables are coerced or its operation planned: without a valid token it is
 * refused, unless the operation needs none. Short requests cost less than the look-up, which their first statement does.
 */
export function longRequestsOfKnown(
  identify: RequestHandler,
  countByAddress: RequestHandler,
): RequestHandler[] {
  const isMeant = ({ locals: { isLong, isNobodys } }: Response) => isLong && !isNobodys;
  const onlyLong =
    (handler: RequestHandler): RequestHandler =>
    (request, response, next) =>
      isMeant(response) ? handler(request, response, next) : next();
  const refuse: RequestHandler = (_request, { locals }, next) => {
    const { requestContext } = locals;
    if (!requestContext?.identity)
      throw new UnauthenticatedError(requestContext?.hasToken ?? false);
    next();
  };
  return [identify, countByAddress, refuse].map(onlyLong);
}

/** What `requestInfo` has found out about a request. */
export function requestContextOf({
  requestContext,
}: {
  requestContext?: RequestInfo;
}): RequestInfo {
  if (!requestContext)
    throw new Error("A request came past the middleware that finds out who sends it");
  return requestContext;
}

/**
 * The isolated test run that a request names in the header `X-Test-run-id`; null when it names none.
 * @throws PublicError when the name is malformed, or test mode is off (`tenants` is null)
 */
export function testRunOf(request: Request, tenants: Tenants | null): string | null {
  const header = request.headers["x-test-run-id"];
  if (header === undefined) return null;
  if (!tenants)
    throw new PublicError(
      "TEST_MODE_DISABLED",
      "Test mode is not enabled: leave the header X-Test-run-id out",
    );
  return parseTestRunId(String(header));
}
