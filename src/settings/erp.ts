import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";
import { httpUrl } from "./types.ts";

const guid = z.guid("must be an id such as 12345678-1234-1234-1234-123456789abc");
/** One segment of an address. */
const segment = z
  .string()
  .regex(/^[\w.-]{1,100}$/, "must be letters, digits, full stops and hyphens only");

/** The ERP: Microsoft Dynamics 365 Business Central. */
export const erpSettings = {
  ERP_BASE_URL: {
    schema: httpUrl,
    fallback: "https://api.businesscentral.dynamics.com/v2.0",
    meaning: "address of Business Central's API, without the tenant",
  },
  ERP_TENANT_ID: {
    schema: segment,
    fallback: undefined,
    meaning:
      "tenant in Microsoft Entra ID, an id or a domain; required by the worker in production",
    example: "wine.example",
  },
  ERP_ENVIRONMENT: {
    schema: segment,
    fallback: undefined,
    meaning: "Business Central's environment; required by the worker in production",
    example: "production",
  },
  ERP_COMPANY_ID: {
    schema: guid,
    fallback: undefined,
    meaning:
      "id of the company in that environment, as `GET .../api/v2.0/companies` lists it; required by the worker in production",
    example: "01234567-89ab-cdef-0123-456789abcdef",
  },
  ERP_CLIENT_ID: {
    schema: segment,
    fallback: undefined,
    meaning:
      "application (client) id registered in Entra ID and in Business Central; required by the worker in production, an emulator starts elsewhere without it",
    example: "01234567-89ab-cdef-0123-456789abcdef",
  },
  ERP_CLIENT_SECRET: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "the application's client secret; required by the worker in production",
  },
  ERP_TOKEN_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning: "address of the token endpoint",
    defaultNote: "`https://login.microsoftonline.com/<ERP_TENANT_ID>/oauth2/v2.0/token`",
  },
} as const;

export function erpConfig(get: GetSetting<typeof erpSettings>, constants: Constants["erp"]) {
  const baseUrl = get("ERP_BASE_URL");
  const tenantId = get("ERP_TENANT_ID");
  const defaultToken =
    tenantId === undefined
      ? undefined
      : `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`;
  return {
    ...constants,
    baseUrl,
    tenantId,
    environment: get("ERP_ENVIRONMENT"),
    companyId: get("ERP_COMPANY_ID"),
    clientId: get("ERP_CLIENT_ID"),
    clientSecret: get("ERP_CLIENT_SECRET"),
    tokenUrl: get("ERP_TOKEN_URL") ?? defaultToken,
    // The error in a wrong base address is reported already.
    scope: baseUrl === undefined ? "" : `${new URL(baseUrl).origin}/.default`,
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
    isSet: value !== undefined,
    purpose: ": the worker reads orders from the ERP",
  }));
}

export function erpProblems(erp: ErpConfig, production: boolean): string[] {
  const named = required(erp).filter(([, value]) => value !== undefined);
  const missing = required(erp).filter(([, value]) => value === undefined);
  // In production `erpNeeds` reports each of them.
  const partly =
    production || named.length === 0
      ? []
      : missing.map(([name]) => `${name} is required with the other settings of the ERP`);
  const insecure = Object.entries({ ERP_BASE_URL: erp.baseUrl, ERP_TOKEN_URL: erp.tokenUrl })
    .filter(([, url]) => production && url?.startsWith("http:"))
    .map(([name]) => `${name} must be an https address in production`);
  return [...partly, ...insecure];
}
