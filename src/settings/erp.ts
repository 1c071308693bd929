import { z } from "zod";
import type { Get, Need } from "./types.ts";
import { httpUrl, whole } from "./types.ts";

const guid = z.guid("must be an id such as 12345678-1234-1234-1234-123456789abc");
/** A part of an address: no slash, and nothing that ends one. */
const segment = z
  .string()
  .regex(/^[\w.-]{1,100}$/, "must be letters, digits, full stops and hyphens only");

/** The ERP: Microsoft Dynamics 365 Business Central. */
export const erpSettings = {
  ERP_BASE_URL: {
    schema: httpUrl,
    fallback: "https://api.businesscentral.dynamics.com/v2.0",
    meaning: "where Business Central's API stands, up to the tenant",
  },
  ERP_TENANT_ID: {
    schema: segment,
    fallback: undefined,
    meaning:
      "the tenant in Microsoft Entra ID, by id or domain; required by the worker in production, as the next four are",
  },
  ERP_ENVIRONMENT: {
    schema: segment,
    fallback: undefined,
    meaning: "Business Central's environment, such as `production`",
  },
  ERP_COMPANY_ID: {
    schema: guid,
    fallback: undefined,
    meaning: "id of the company in it, as `GET .../api/v2.0/companies` lists it",
  },
  ERP_CLIENT_ID: {
    schema: segment,
    fallback: undefined,
    meaning:
      "application (client) id registered in Entra ID and in Business Central; without it (outside production) a simulator starts",
  },
  ERP_CLIENT_SECRET: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "the application's client secret",
  },
  ERP_TOKEN_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "token endpoint; by default `https://login.microsoftonline.com/<ERP_TENANT_ID>/oauth2/v2.0/token`",
  },
  ERP_SCOPE: {
    schema: z.string().regex(/^\S{1,300}$/, "must hold no spaces"),
    fallback: undefined,
    meaning: "scope of the tokens; by default the origin of `ERP_BASE_URL` and `/.default`",
  },
  ERP_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "60000",
    meaning: "longest wait for one answer of the ERP, in milliseconds",
  },
  ERP_PAGE_SIZE: {
    schema: whole(1, 1_000),
    fallback: "200",
    meaning: "orders or customers that are read from the ERP at a time",
  },
  ERP_RETRIES: {
    schema: whole(0, 10),
    fallback: "4",
    meaning: "how often a request that found the ERP away or busy is tried again at once",
  },
  ERP_LONGEST_WAIT_MS: {
    schema: whole(100, 600_000),
    fallback: "30000",
    meaning:
      "longest wait before such a try, in milliseconds; when the ERP asks for more (`Retry-After`), the job is put off instead",
  },
  ERP_BREAKER_FAILURES: {
    schema: whole(1, 100),
    fallback: "5",
    meaning: "requests in a row without an answer after which the ERP is left in peace",
  },
  ERP_BREAKER_MS: {
    schema: whole(100, 3_600_000),
    fallback: "30000",
    meaning: "how long it is left in peace, in milliseconds",
  },
  ERP_LOOKBACK_SECONDS: {
    schema: whole(1, 86_400),
    fallback: "300",
    meaning:
      "how long a change may take in the ERP from its time stamp until it is to be seen; every run looks back as far",
  },
  ERP_SIMULATOR_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the simulator that stands in; 0 takes a free one and keeps to it",
  },
  ERP_SIMULATOR_ORDERS: {
    schema: whole(0, 1_000_000),
    fallback: "3000",
    meaning: "orders that the simulator begins with",
  },
  ERP_SIMULATOR_SEED: {
    schema: z.string().min(1).max(100),
    fallback: "wine",
    meaning: "from which the simulator's data is made: the same seed gives the same data",
  },
} as const;

export function erpConfig(get: Get<typeof erpSettings>) {
  const baseUrl = get("ERP_BASE_URL");
  const tenantId = get("ERP_TENANT_ID");
  const defaultToken =
    tenantId === undefined
      ? undefined
      : `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`;
  return {
    baseUrl,
    tenantId,
    environment: get("ERP_ENVIRONMENT"),
    companyId: get("ERP_COMPANY_ID"),
    clientId: get("ERP_CLIENT_ID"),
    clientSecret: get("ERP_CLIENT_SECRET"),
    tokenUrl: get("ERP_TOKEN_URL") ?? defaultToken,
    // A wrong base address is among the problems already.
    scope: get("ERP_SCOPE") ?? (baseUrl === undefined ? "" : `${new URL(baseUrl).origin}/.default`),
    timeoutMs: get("ERP_TIMEOUT_MS"),
    pageSize: get("ERP_PAGE_SIZE"),
    retries: get("ERP_RETRIES"),
    longestWaitMs: get("ERP_LONGEST_WAIT_MS"),
    breakerFailures: get("ERP_BREAKER_FAILURES"),
    breakerMs: get("ERP_BREAKER_MS"),
    lateMs: get("ERP_LOOKBACK_SECONDS") * 1000,
    simulator: {
      port: get("ERP_SIMULATOR_PORT"),
      orders: get("ERP_SIMULATOR_ORDERS"),
      seed: get("ERP_SIMULATOR_SEED"),
    },
  };
}

export type ErpConfig = ReturnType<typeof erpConfig>;

const required = (erp: ErpConfig) =>
  Object.entries({
    ERP_TENANT_ID: erp.tenantId,
    ERP_ENVIRONMENT: erp.environment,
    ERP_COMPANY_ID: erp.companyId,
    ERP_CLIENT_ID: erp.clientId,
    ERP_CLIENT_SECRET: erp.clientSecret,
  });

export function erpNeeds(erp: ErpConfig): Need[] {
  return required(erp).map(([name, value]) => ({
    name,
    role: "worker",
    given: value !== undefined,
    purpose: ": the worker reads orders from the ERP",
  }));
}

export function erpProblems(erp: ErpConfig, production: boolean): string[] {
  const given = required(erp).filter(([, value]) => value !== undefined);
  const missing = required(erp).filter(([, value]) => value === undefined);
  // In production the needs name them one by one, for the process that uses them.
  const partly =
    production || given.length === 0
      ? []
      : missing.map(([name]) => `${name} is missing: other settings name an ERP`);
  const insecure = Object.entries({ ERP_BASE_URL: erp.baseUrl, ERP_TOKEN_URL: erp.tokenUrl })
    .filter(([, url]) => production && url?.startsWith("http:"))
    .map(([name]) => `${name} must be an https address in production`);
  return [...partly, ...insecure];
}
