import type { Request, RequestHandler } from "express";
import type { Pool } from "pg";
import { type Areas, parseRunId } from "../areas.ts";
import { authenticate, authenticateWithMark, bearerToken } from "../auth/authenticate.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { type TokenHash, withoutTokens } from "../auth/tokens.ts";
import { OfficeError } from "../errors.ts";
import { addressOf } from "./addressOf.ts";
import { idempotencyKeyOf } from "./idempotencyKey.ts";
import { currentScope } from "../requestScope.ts";

declare global {
  namespace Express {
    interface Locals {
      office?: RequestInfo;
      /** The bearer token of a request whose sender is not known yet; null where there is none that could mean something. */
      token?: TokenHash | null;
      /** Whether the operation that is asked for is nobody's, whatever token comes with it. */
      isNobodys?: boolean;
    }
  }
}

/** What the finding out of a request's area and identity needs. */
export interface RequestInfoOptions {
  pool: Pool;
  mainArea: string;
  /** Null when test mode is off: then the header is refused on every operation. */
  areas: Areas | null;
  idleHours: number;
  /** Tells of requests that a replica may answer: they get a mark. */
  maySkipPrimary?: (request: Request) => boolean;
}

/**
 * Finds out which area a request works in and who sends it, and leaves both in `response.locals.office`.
 * `keepsArea` tells of requests that must not make the test area that they name.
 */
export function requestInfo(
  options: RequestInfoOptions,
  keepsArea: (request: Request) => boolean,
): RequestHandler[] {
  return [requestArea(options, keepsArea), requestIdentity(options)];
}

/** The first half of `requestInfo`: all but who it is. The token is left in `response.locals.token`. */
export function requestArea(
  options: RequestInfoOptions,
  keepsArea: (request: Request) => boolean,
): RequestHandler {
  return async (request, { locals }, next) => {
    const idempotency = idempotencyKeyOf(request);
    const testRunId = testRunOf(request, options.areas);
    const scope = currentScope();
    if (scope) scope.inTestRun = testRunId !== null;
    const area =
      testRunId !== null && options.areas && keepsArea(request)
        ? await options.areas.forTestRun(testRunId)
        : options.mainArea;
    // A token means something only in its own area, which a clean-up does not open.
    const isOpen = testRunId === null || area !== options.mainArea;
    // Logging in needs no token, and is done as nobody where one is sent all the same, as clients do that send it always.
    locals.token = isOpen && !locals.isNobodys ? bearerToken(request.rawHeaders) : null;
    locals.office = {
      identity: null,
      area,
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

/** The second half of `requestInfo`: who it is. */
export function requestIdentity(options: RequestInfoOptions): RequestHandler {
  const { pool, idleHours, maySkipPrimary } = options;
  return async (request, { locals }, next) => {
    const { office, token } = locals;
    if (office && token && maySkipPrimary?.(request))
      locals.office = {
        ...office,
        ...(await authenticateWithMark(pool, office.area, token, idleHours)),
      };
    else if (office && token)
      locals.office = {
        ...office,
        identity: await authenticate(pool, office.area, token, idleHours),
      };
    next();
  };
}

/** What `requestInfo` has found out about a request. */
export function officeOf({ office }: { office?: RequestInfo }): RequestInfo {
  if (!office) throw new Error("A request came past the middleware that finds out who sends it");
  return office;
}

/**
 * The isolated test run that a request names in the header `X-Test-run-id`; null when it names none.
 * @throws OfficeError when the name is malformed, or test mode is off (`areas` is null)
 */
export function testRunOf(request: Request, areas: Areas | null): string | null {
  const header = request.headers["x-test-run-id"];
  if (header === undefined) return null;
  if (!areas)
    throw new OfficeError(
      "TEST_MODE_DISABLED",
      "Test mode is not enabled: leave the header X-Test-run-id out",
    );
  return parseRunId(String(header));
}
