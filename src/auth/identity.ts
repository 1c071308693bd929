import type { Config } from "../config.ts";
import { tracing } from "../telemetry/tracing.ts";

/** Who a request comes from, as found by its bearer token. */
export interface Identity {
  userId: string;
  /** The session that the token opened; null for an API token. */
  sessionId: string | null;
  /** The API token that the request came with; null for a session. */
  tokenId: string | null;
  permissions: ReadonlySet<string>;
  /** True for a token that is narrowed to some permissions: it passes only plain permission guards. */
  scoped: boolean;
}

/** The key under which a request may be sent again, and what it asks for; both are SHA-256. */
export interface IdempotencyKey {
  keyHash: Buffer;
  requestHash: Buffer;
}

/** What is known of a request beside its body; part of the GraphQL context. */
export interface RequestInfo {
  identity: Identity | null;
  /** Whether a bearer token came with the request. Without an identity, nobody holds that token. */
  hasToken: boolean;
  /** The schema that the request works in: the main one or that of an isolated test run. */
  tenant: string;
  /** The id of the isolated test run, when the request names one. */
  testRunId: string | null;
  correlationId: string;
  ipAddress: string;
  userAgent: string;
  /** From the header `Idempotency-Key`, where the request has one. */
  idempotency?: IdempotencyKey | null;
  /** Where a replica may answer: the mark of the primary that it must have come to. */
  mark?: string | null;
}

/** What of the configuration the database needs to know for a request. */
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
  // The context that every plan can read.
  namespace Grafast {
    interface Context {
      requestContext: RequestInfo;
    }
  }
}

/**
 * The transaction-local settings that carry a request's identity to policies, functions and audit triggers
 * (`db/logic/00_session.sql` reads them). Every setting is given, so that none is left over from another request.
 */
export function settingsOf(info: RequestInfo, options: RequestSettings): Record<string, string> {
  const { identity } = info;
  return {
    ...anonymousSettings(info, options),
    "office.user_id": identity?.userId ?? "",
    "office.session_id": identity?.sessionId ?? "",
    "office.token_id": identity?.tokenId ?? "",
    "office.permissions": identity ? [...identity.permissions].join(",") : "",
    "office.scoped": String(identity?.scoped ?? false),
  };
}

/** All of these settings but those of who it is, for where the database itself finds that out. */
export function anonymousSettings(
  info: Omit<RequestInfo, "identity">,
  options: RequestSettings,
): Record<string, string> {
  return {
    role: "office_api",
    // What administrators see of a statement that runs or waits, and in the database's log (`%a`). A comment in the statement would
    // make each a new one, which nothing could keep prepared.
    application_name: `office ${info.correlationId}`,
    search_path: `"${info.tenant}", extensions, pg_temp`,
    statement_timeout: String(options.statementTimeoutMs),
    "office.correlation_id": info.correlationId,
    "office.ip_address": info.ipAddress,
    "office.user_agent": info.userAgent,
    "office.source": "api",
    // For the jobs that the request causes.
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
