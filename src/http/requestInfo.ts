import type { Request, RequestHandler, Response } from "express";
import { type Tenants, parseTestRunId } from "../tenants/tenants.ts";
import { bearerCredential } from "../auth/bearerCredential.ts";
import type { FindPrincipal } from "../auth/findPrincipal.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { type TokenHash, redactTokens } from "../auth/tokens.ts";
import { PublicError, UnauthenticatedError } from "../errors/PublicError.ts";
import { clientAddress } from "./clientAddress.ts";
import { idempotencyKeyOf } from "./idempotencyKey.ts";
import type { SessionCookies } from "./sessionCookie.ts";
import { currentScope } from "../context/requestScope.ts";

declare global {
  namespace Express {
    interface Locals {
      requestContext?: RequestInfo;
      /** The token of a request that is not authenticated yet; null without a well-formed token. */
      token?: TokenHash | null;
      /** Whether a root field of the operation needs no login. */
      isPublic?: boolean;
      /** Whether the operation is a login, which runs anonymously even with a token. */
      isPublicMutation?: boolean;
    }
  }
}

/** The dependencies for finding a request's tenant and caller. */
export interface RequestInfoOptions {
  findPrincipal: FindPrincipal;
  mainTenant: string;
  /** Null when test mode is off: the header X-Test-run-id is rejected. */
  tenants: Tenants | null;
  sessionCookies: SessionCookies;
  /** Whether a replica may serve the request: its caller is read together with a WAL position. */
  maySkipPrimary?: (request: Request) => boolean;
}

/**
 * How a request uses the schema of its test run: `create` creates a missing one, `existing` uses one that exists,
 * `none` uses none.
 */
export type TenantUse = "create" | "existing" | "none";

/**
 * Finds a request's tenant and caller and stores both in `response.locals.requestContext`. Never creates a test tenant:
 * no token is valid in a new one.
 */
export function readRequestContext(options: RequestInfoOptions): RequestHandler[] {
  return [requestTenant(options, () => "existing"), requestIdentity(options)];
}

/** The first half of `readRequestContext`: all but the caller. Stores the token in `response.locals.token`. */
export function requestTenant(
  options: RequestInfoOptions,
  useOf: (request: Request, locals: Express.Locals) => TenantUse,
): RequestHandler {
  return async (request, response, next) => {
    const { locals } = response;
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
    const bearer = bearerCredential(request.rawHeaders);
    const cookie = options.sessionCookies.read(request);
    const token = bearer.token ?? cookie;
    const isSent = bearer.isSent || cookie !== null;
    // A login runs anonymously even with a token: some clients always send one.
    const counts = !locals.isPublicMutation;
    locals.token = isOpen && counts ? token : null;
    locals.requestContext = {
      identity: null,
      hasToken: isSent && counts,
      tenant,
      testRunId,
      correlationId: scope?.correlationId ?? "",
      ipAddress: clientAddress(request),
      // A token sent in this header by mistake would be stored in the audit log.
      userAgent: redactTokens((request.headers["user-agent"] ?? "").slice(0, 500)),
      idempotency,
      sessionCookie: options.sessionCookies.of(request, response),
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

/** The second half of `readRequestContext`: authenticates the caller. */
export function requestIdentity(options: RequestInfoOptions): RequestHandler {
  const { findPrincipal, maySkipPrimary } = options;
  return async (request, { locals }, next) => {
    const { requestContext, token } = locals;
    if (requestContext && token) {
      const mark = maySkipPrimary?.(request) ?? false;
      const found = await findPrincipal(requestContext.tenant, token, { mark });
      locals.requestContext = { ...requestContext, ...found };
    }
    next();
  };
}

/**
 * Authenticates long requests before their variables are coerced: without a valid token they are rejected, except
 * logins. For short requests the look-up costs more than it saves, since their first statement includes it.
 */
export function authenticateLongRequests(
  identify: RequestHandler,
  countByAddress: RequestHandler,
): RequestHandler[] {
  const needsIdentity = ({ locals: { isLong, isPublicMutation } }: Response) =>
    isLong && !isPublicMutation;
  const onlyLong =
    (handler: RequestHandler): RequestHandler =>
    (request, response, next) =>
      needsIdentity(response) ? handler(request, response, next) : next();
  const refuse: RequestHandler = (_request, { locals }, next) => {
    const { requestContext } = locals;
    if (!requestContext?.identity)
      throw new UnauthenticatedError(requestContext?.hasToken ?? false);
    next();
  };
  return [identify, countByAddress, refuse].map(onlyLong);
}

/** The tenant and caller that `readRequestContext` stored. */
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
 * The test run in the header `X-Test-run-id`; null without the header.
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
