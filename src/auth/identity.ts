import type { Config } from "../config.ts";
import { tracing } from "../telemetry/tracing.ts";

/** The principal of a request, found by its token. */
export interface Identity {
  userId: string;
  /** The session; null for an API token. */
  sessionId: string | null;
  /** The API token; null for a session. */
  tokenId: string | null;
  permissions: ReadonlySet<string>;
  /** True for a scoped token: it passes plain permission guards only. */
  scoped: boolean;
}

/** The hashes (SHA-256) of an idempotency key and of the request. */
export interface IdempotencyKey {
  keyHash: Buffer;
  requestHash: Buffer;
}

/** The cookie that holds a browser's session token. */
export interface SessionCookie {
  /** Whether a login sets the cookie instead of returning the token: the header `X-Session: cookie`. */
  isRequested: boolean;
  set(token: string): void;
  /** Removes the cookie from the browser when it is the credential of the request. */
  clear(): void;
}

/** Facts about a request other than its body; part of the GraphQL context. */
export interface RequestInfo {
  identity: Identity | null;
  /** Whether a token was sent. Without an identity the token is invalid. */
  hasToken: boolean;
  /** The tenant schema: the live one or that of a test run. */
  tenant: string;
  /** The id of the test run, if the request names one. */
  testRunId: string | null;
  correlationId: string;
  ipAddress: string;
  userAgent: string;
  /** From the header `Idempotency-Key`. */
  idempotency?: IdempotencyKey | null;
  /** The mark that a replica must have replayed; null or absent when the primary must answer. */
  mark?: string | null;
  /** Absent when the operation does not come directly from an HTTP request. */
  sessionCookie?: SessionCookie | undefined;
}

/** The configuration that requests pass to the database. */
export interface RequestSettings {
  statementTimeoutMs: number;
  invitationDays: number;
  exportMaxProducts: number;
  searchPrefix: string;
}

export function requestSettings(
  config: Pick<Config, "database" | "invitationDays" | "exports" | "search">,
): RequestSettings {
  return {
    statementTimeoutMs: config.database.statementTimeoutMs,
    invitationDays: config.invitationDays,
    exportMaxProducts: config.exports.maxProducts,
    searchPrefix: config.search.prefix,
  };
}

declare global {
  // The context of all plans.
  namespace Grafast {
    interface Context {
      requestContext: RequestInfo;
    }
  }
}

/**
 * The transaction-local settings that carry a request's identity to policies, functions and audit triggers (read in
 * `db/logic/00_session.sql`). All are set, so that none remains from another request.
 */
export function settingsOf(info: RequestInfo, options: RequestSettings): Record<string, string> {
  return { ...anonymousSettings(info, options), ...identitySettings(info.identity) };
}

/** The settings that identify the caller; empty values for an anonymous request. */
export function identitySettings(identity: Identity | null): Record<string, string> {
  return {
    "office.user_id": identity?.userId ?? "",
    "office.session_id": identity?.sessionId ?? "",
    "office.token_id": identity?.tokenId ?? "",
    "office.permissions": identity ? [...identity.permissions].join(",") : "",
    "office.scoped": String(identity?.scoped ?? false),
  };
}

const connectionCheckInterval = "2s";

/** The settings without the identity, for statements that look it up themselves. */
export function anonymousSettings(
  info: Omit<RequestInfo, "identity">,
  options: RequestSettings,
): Record<string, string> {
  return {
    role: "office_api",
    // Shown in pg_stat_activity and in the database's log (`%a`). A comment in the SQL would make each statement unique
    // and defeat prepared statements.
    application_name: `office ${info.correlationId}`,
    search_path: `"${info.tenant}", extensions, pg_temp`,
    statement_timeout: String(options.statementTimeoutMs),
    // Ends a statement whose caller has been answered: a function can catch the statement timeout and go on.
    client_connection_check_interval: connectionCheckInterval,
    "office.correlation_id": info.correlationId,
    "office.ip_address": info.ipAddress,
    "office.user_agent": info.userAgent,
    "office.source": "api",
    // For the jobs of the request.
    ...traceSetting(),
    "office.invitation_days": String(options.invitationDays),
    "office.export_max_products": String(options.exportMaxProducts),
    ...(options.searchPrefix !== "" && { "office.search_prefix": options.searchPrefix }),
  };
}

function traceSetting(): Record<string, string> {
  const traceparent = tracing()?.traceparent();
  return traceparent === undefined ? {} : { "office.traceparent": traceparent };
}
