import type { Config } from "../config.ts";
import type { ErpClient } from "./erp.ts";
import { makeBusinessCentralClient } from "./erp/businessCentral.ts";

const mebibyte = 1024 * 1024;

/**
 * The ERP of the settings; null when they name none, which is possible outside production only. Make one for a process and keep
 * it: tokens, codes and the circuit breaker are the client's own.
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
