import type { ErpCallOptions } from "../erp.ts";
import type { Company, ODataQuery } from "./odata.ts";
import { oneOf } from "./odata.ts";
import { OversizedRecord } from "./readRecord.ts";
import { ResponseTooLargeError } from "./transport.ts";

// A number is a Code[20] in Business Central; one longer number makes the ERP reject the whole filter
// (dynamics-error-codes.md).
const maxNumberLength = 20;
// Keeps URLs well below the 8 KiB that all servers accept.
const batchSize = 50;
const maxFilterLength = 2_500;

/** The distinct numbers that the ERP can look up. */
export function distinctNumbers(numbers: readonly string[]): string[] {
  return [...new Set(numbers)].filter(
    (number) => number.length <= maxNumberLength && /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u.test(number),
  );
}

/**
 * Reads the records whose `field` is one of `numbers`, with as few requests as the URL length allows. A record that alone
 * is too large is an `OversizedRecord`.
 */
export async function readInBatches(
  company: Company,
  set: string,
  field: string,
  numbers: readonly string[],
  query: ODataQuery,
  options: ErpCallOptions,
): Promise<unknown[]> {
  const found: unknown[] = [];
  const read = async (batch: readonly string[]): Promise<void> => {
    try {
      const records = await company.all(set, { ...query, filter: oneOf(field, batch) }, options);
      for (const record of records) found.push(record);
    } catch (error) {
      if (!(error instanceof ResponseTooLargeError)) throw error;
      if (batch.length === 1) {
        // A response that is too large without the record's other fields has another cause.
        const brief = { select: [field], filter: oneOf(field, batch), top: 1 };
        const { value } = await company.page(set, brief, options);
        found.push(...value.map(() => new OversizedRecord(batch[0] ?? null)));
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await read(batch.slice(0, half));
      await read(batch.slice(half));
    }
  };
  for (const batch of batches(numbers, field)) await read(batch);
  return found;
}

function* batches(numbers: readonly string[], field: string): Generator<string[]> {
  let batch: string[] = [];
  let length = 0;
  for (const number of numbers) {
    const own = encodeURIComponent(oneOf(field, [number])).length + "%20or%20".length;
    if (batch.length > 0 && (batch.length >= batchSize || length + own > maxFilterLength)) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(number);
    length += own;
  }
  if (batch.length > 0) yield batch;
}
