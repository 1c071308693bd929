import type { Config } from "../config.ts";
import type { ErpClient } from "./erp.ts";
import { makeBusinessCentralClient } from "./erp/businessCentral.ts";

const mebibyte = 1024 * 1024;

/**
 * The configured ERP, or null when none is configured, which only development allows. Create one per process: it holds
 * tokens, cached codes and the circuit breaker.
 */
export function makeErpClient({ erp }: Pick<Config, "erp">): ErpClient | null {
  const { tenantId, environment, companyId, clientId, clientSecret, tokenUrl } = erp;
  if (
    tenantId === undefined ||
    environment === undefined ||
    companyId === undefined ||
    clientId === undefined ||
    clientSecret === undefined ||
    tokenUrl === undefined
  )
    return null;
  const { baseUrl, scope, timeoutMs, pageSize, lateMs } = erp;
  const { retries, longestWaitMs, breakerFailures, breakerMs } = erp;
  return makeBusinessCentralClient({
    ...{ baseUrl, tenantId, environment, companyId, clientId, clientSecret, tokenUrl, scope },
    ...{ timeoutMs, pageSize, lateMs },
    attempts: {
      retries,
      firstWaitMs: Math.min(500, longestWaitMs),
      longestWaitMs,
      failuresToOpen: breakerFailures,
      openMs: breakerMs,
    },
    largestAnswerBytes: 32 * mebibyte,
    rememberMs: 60_000,
  });
}
