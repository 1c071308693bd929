import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { ErpCallOptions } from "../erp.ts";
import { guid, name, reference, text } from "./fields.ts";
import { distinctNumbers, readInBatches } from "./inBatches.ts";
import type { Company } from "./odata.ts";
import { readRecords } from "./readRecord.ts";

/** The ERP's code lists that orders and customers refer to by id. */
type CodeSet = "paymentMethods" | "paymentTerms" | "shipmentMethods" | "locations";

/** Resolves references of orders and customers. */
export interface References {
  /**
   * All codes of a set by id (resources/dynamics_paymentmethod.md and similar). If one of `ids` is not among the cached
   * ones, they are read again.
   */
  codes(
    set: CodeSet,
    ids: readonly (string | null)[],
    options: ErpCallOptions,
  ): Promise<ReadonlyMap<string, string>>;
  /** Category codes by item number: null for an item without category, absent for an item that does not exist. */
  categories(
    itemNumbers: readonly string[],
    options: ErpCallOptions,
  ): Promise<ReadonlyMap<string, string | null>>;
  /** Payment method ids by customer number, in the same form as `categories`. */
  paymentMethods(
    customerNumbers: readonly string[],
    options: ErpCallOptions,
  ): Promise<ReadonlyMap<string, string | null>>;
  /** The code of the company's currency. */
  localCurrency(options: ErpCallOptions): Promise<string | null>;
}

const codeSchema = z.object({ id: guid, code: name });
const itemSchema = z.object({ number: name, itemCategoryCode: text });
const customerSchema = z.object({ number: name, paymentMethodId: reference });
const companySchema = z.object({ currencyCode: text });

// An id without a code would otherwise cause a request for each page of orders.
const readAgainAfterMs = 5_000;
// 20,000 numbers with their codes take a few megabytes.
const maxCacheEntries = 20_000;

/** @param rememberMs how long a response is cached */
export function makeReferences(company: Company, rememberMs: number): References {
  const known = new Map<string, { value: Promise<unknown>; readAt: number }>();

  /** Concurrent callers share one request; a failed one is not cached. */
  const cached = <T>(key: string, load: () => Promise<T>, maxAgeMs = rememberMs): Promise<T> => {
    const present = known.get(key);
    if (present && performance.now() < present.readAt + maxAgeMs)
      return present.value as Promise<T>;
    const value = load();
    const entry = { value, readAt: performance.now() };
    known.set(key, entry);
    value.catch(() => {
      if (known.get(key) === entry) known.delete(key);
    });
    return value;
  };

  const lookUp = <Row>(
    set: string,
    schema: z.ZodType<Row & { number: string }>,
    select: readonly string[],
    valueOf: (row: Row) => string | null,
  ) => {
    const cache = new LRUCache<string, { value: string | null | undefined }>({
      max: maxCacheEntries,
      ttl: rememberMs,
    });
    return async (numbers: readonly string[], options: ErpCallOptions) => {
      const found = new Map<string, string | null>();
      const unknown: string[] = [];
      for (const number of distinctNumbers(numbers)) {
        const hit = cache.get(number);
        if (hit === undefined) unknown.push(number);
        else if (hit.value !== undefined) found.set(number, hit.value);
      }
      const raw = await readInBatches(company, set, "number", unknown, { select }, options);
      // Unreadable references count as missing, so that the orders remain readable.
      for (const row of readRecords(raw, schema, (read) => read).records)
        found.set(row.number, valueOf(row));
      for (const number of unknown) cache.set(number, { value: found.get(number) });
      return found;
    };
  };

  return {
    async codes(set, ids, options) {
      const load = async () => {
        // The request is shared, so it does not end with the signal of one caller.
        const raw = await company.all(
          set,
          { select: ["id", "code"] },
          { correlationId: options.correlationId },
        );
        return new Map(readRecords(raw, codeSchema, ({ id, code }) => [id, code] as const).records);
      };
      const codes = await cached(set, load);
      const isKnown = ids.every((id) => id === null || codes.has(id));
      return isKnown ? codes : cached(set, load, Math.min(readAgainAfterMs, rememberMs));
    },
    categories: lookUp(
      "items",
      itemSchema,
      ["number", "itemCategoryCode"],
      (item) => item.itemCategoryCode,
    ),
    paymentMethods: lookUp(
      "customers",
      customerSchema,
      ["number", "paymentMethodId"],
      (customer) => customer.paymentMethodId,
    ),
    localCurrency: (options) =>
      cached("companyInformation", async () => {
        const raw = await company.all(
          "companyInformation",
          { select: ["currencyCode"] },
          { correlationId: options.correlationId },
        );
        return readRecords(raw, companySchema, (read) => read.currencyCode).records[0] ?? null;
      }),
  };
}
