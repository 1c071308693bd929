import { z } from "zod";
import type {
  ErpCallOptions,
  ErpClient,
  ErpCustomer,
  ErpLookup,
  ErpOrderLookup,
  ErpOrder,
} from "../erp.ts";
import { ErpAnswerError } from "../erp.ts";
import { makeAccessTokens } from "./accessToken.ts";
import type { AttemptOptions } from "./attempts.ts";
import { makeAttempts } from "./attempts.ts";
import { readChanges } from "./changes.ts";
import type { CustomerRecord } from "./customerRecord.ts";
import { customerSchema, customerSelect, toCustomer } from "./customerRecord.ts";
import { text } from "./fields.ts";
import { codeOfId } from "./codeOfId.ts";
import { distinctNumbers, readInBatches } from "./inBatches.ts";
import { itemSchema, itemSelect, toItem } from "./itemRecord.ts";
import type { Company, ODataQuery } from "./odata.ts";
import { makeCompany } from "./odata.ts";
import { orderExpand, orderSelect } from "./orderRecord.ts";
import type { ReadRecords } from "./readRecord.ts";
import { readRecords, readableString } from "./readRecord.ts";
import type { References } from "./references.ts";
import { makeReferences } from "./references.ts";
import { readOrders } from "./readOrders.ts";
import { makeTransport } from "./transport.ts";

export interface BusinessCentralOptions {
  /** The base URL of the API, by default `https://api.businesscentral.dynamics.com/v2.0`. */
  baseUrl: string;
  tenantId: string;
  environment: string;
  companyId: string;
  tokenUrl: string;
  scope: string;
  clientId: string;
  clientSecret: string;
  /** The limit for one response including its body. */
  timeoutMs: number;
  /** The maximum number of orders or customers per page. */
  pageSize: number;
  /** How long a change may take to become visible in the ERP. */
  lateMs: number;
  attempts: AttemptOptions;
  largestAnswerBytes: number;
  /** How long codes referenced by orders are cached. */
  rememberMs: number;
}

const orders = { set: "salesOrders", query: { select: orderSelect, expand: orderExpand } };
const customers = { set: "customers", query: { select: customerSelect } };

/**
 * A client for Microsoft Dynamics 365 Business Central, API v2.0 (endpoints-apis-for-dynamics.md): OData v4 with access
 * tokens by the OAuth client credentials grant. File names in this folder's comments are those of Microsoft's
 * documentation.
 */
export function makeBusinessCentralClient(options: BusinessCentralOptions): ErpClient {
  const { baseUrl, tenantId, environment, companyId, pageSize, lateMs, timeoutMs } = options;
  const attempts = makeAttempts(options.attempts);
  const transport = makeTransport({
    tokens: makeAccessTokens(options),
    secret: options.clientSecret,
    attempts,
    timeoutMs,
    maxResponseBytes: options.largestAnswerBytes,
  });
  const place = [tenantId, environment].map(encodeURIComponent).join("/");
  const root = `${baseUrl.replace(/\/+$/, "")}/${place}/api/v2.0/companies(${companyId})`;
  const company = makeCompany(root, transport);
  const shared = makeReferences(company, options.rememberMs);

  return {
    async changedOrders(cursor, callOptions = {}) {
      const changes = { ...orders, pageSize, lateMs };
      const { raw, ...page } = await readChanges(company, changes, cursor, callOptions);
      return { ...(await readOrders(raw, shared, callOptions)), ...page };
    },
    ordersByNumbers: (numbers, callOptions = {}) => findOrders(company, numbers, callOptions),
    async changedCustomers(cursor, callOptions = {}) {
      const changes = { ...customers, pageSize, lateMs };
      const { raw, ...page } = await readChanges(company, changes, cursor, callOptions);
      return { ...(await readCustomers(raw, shared, callOptions)), ...page };
    },
    async customersByNumbers(numbers, callOptions = {}) {
      const distinct = distinctNumbers(numbers);
      const { set, query } = customers;
      const raw = await readInBatches(company, set, "number", distinct, query, callOptions);
      return found(numbers, await readCustomers(raw, shared, callOptions));
    },
    async itemsByNumbers(numbers, callOptions = {}) {
      const query = { select: itemSelect };
      const distinct = distinctNumbers(numbers);
      const raw = await readInBatches(company, "items", "number", distinct, query, callOptions);
      return found(numbers, readRecords(raw, itemSchema, toItem));
    },
    async check(callOptions = {}) {
      const start = performance.now();
      const answer = companySchema.safeParse(await company.self(callOptions));
      if (!answer.success) throw new ErpAnswerError("The ERP's response is not a company");
      const { displayName, name } = answer.data;
      const durationMs = Math.round(performance.now() - start);
      return { company: displayName ?? name ?? "", durationMs };
    },
    circuit: () => transport.circuit(),
  };
}

// The limit for a whole call.
const maxCallMs = 3_600_000;
const companySchema = z.object({ name: text, displayName: text });
const invoiceSchema = z.object({ orderNumber: text });

/**
 * Does not use cached codes: a caller that requests certain orders wants to see recent corrections. Missing orders are
 * looked up among the invoices (resources/dynamics_salesinvoice.md). A number that the ERP cannot look up is not missing.
 */
async function findOrders(
  company: Company,
  numbers: readonly string[],
  options: ErpCallOptions,
): Promise<ErpOrderLookup> {
  const { set, query } = orders;
  // One wrong response would cancel orders, so a second one must agree about those that it lacks.
  const read = async (from: string, field: string, wanted: readonly string[], of: ODataQuery) => {
    const first = await readInBatches(company, from, field, wanted, of, options);
    const present = new Set(first.map((record) => readableString(record, field)));
    const absent = wanted.filter((number) => !present.has(number));
    return [...first, ...(await readInBatches(company, from, field, absent, of, options))];
  };
  const asked = distinctNumbers(numbers);
  const raw = await read(set, "number", asked, query);
  const references = makeReferences(company, maxCallMs);
  const result = found<ErpOrder>(asked, await readOrders(raw, references, options));
  const invoices = await read("salesInvoices", "orderNumber", result.missing, {
    select: ["orderNumber"],
  });
  const invoiced = new Set(
    readRecords(invoices, invoiceSchema, ({ orderNumber }) => orderNumber).records,
  );
  return { ...result, invoiced: result.missing.filter((number) => invoiced.has(number)) };
}

async function readCustomers(
  raw: readonly unknown[],
  references: References,
  options: ErpCallOptions,
): Promise<ReadRecords<ErpCustomer>> {
  const { records, unreadable } = readRecords(raw, customerSchema, (record) => record);
  if (records.length === 0) return { records: [], unreadable };
  const idsOf = (property: "paymentMethodId" | "paymentTermsId" | "shipmentMethodId") =>
    records.map((record) => record[property]);
  const [paymentMethods, paymentTerms, shipmentMethods] = await Promise.all([
    references.codes("paymentMethods", idsOf("paymentMethodId"), options),
    references.codes("paymentTerms", idsOf("paymentTermsId"), options),
    references.codes("shipmentMethods", idsOf("shipmentMethodId"), options),
  ]);
  const lacksCurrency = records.some(({ currencyCode }) => currencyCode === null);
  const codes = {
    paymentMethod: codeOfId(paymentMethods),
    paymentTerms: codeOfId(paymentTerms),
    shipmentMethod: codeOfId(shipmentMethods),
    localCurrency: lacksCurrency ? await references.localCurrency(options) : null,
  };
  const into = (record: CustomerRecord) => toCustomer(record, codes);
  return { records: records.map(into), unreadable };
}

function found<Entity extends { number: string }>(
  numbers: readonly string[],
  { records, unreadable }: ReadRecords<Entity>,
): ErpLookup<Entity> {
  // A record without a legible number would count as missing.
  if (unreadable.some(({ number }) => number === null))
    throw new ErpAnswerError("The ERP's response contains a record without a legible number");
  const requested = new Set(numbers);
  const known = new Set([...records, ...unreadable].map(({ number }) => number));
  return {
    // The ERP compares numbers case-insensitively, this service byte by byte.
    records: records.filter(({ number }) => requested.has(number)),
    unreadable: unreadable.filter(({ number }) => requested.has(number ?? "")),
    missing: [...requested].filter((number) => !known.has(number)),
  };
}
