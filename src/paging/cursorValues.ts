import type { PgCodec } from "postgraphile/@dataplan/pg";
import { isEnumCodec, TYPES } from "postgraphile/@dataplan/pg";
import { isUuid } from "../postgres/uuid.ts";

// Callers can forge cursors: PostgreSQL would reject a value of the wrong type without naming the argument.

type Fits = (value: unknown) => boolean;

const isText: Fits = (value) => typeof value === "string" && !value.includes("\0");

function isWithin(bits: number): Fits {
  return (value) => {
    if (typeof value !== "number" && typeof value !== "string") return false;
    if (!/^-?\d{1,19}$/.test(String(value))) return false;
    const number = BigInt(value);
    return BigInt.asIntN(bits, number) === number;
  };
}

/** PostgreSQL's limits of digits before and after the point (manual, "Numeric Types"). */
const isNumeric: Fits = (value) =>
  (typeof value === "number" || typeof value === "string") &&
  /^(?:-?\d{1,131072}(?:\.\d{1,16383})?|NaN|-?Infinity)$/.test(String(value));

/** Dates as `to_char` writes them; years may have more than four digits. */
const dayPattern = /^(\d{4,6})-(\d{2})-(\d{2})/;
/**
 * The last year of PostgreSQL's timestamps (manual, "Date/Time Types"); dates go further but are written as timestamps
 * are.
 */
const lastYear = 294_276;
const timePattern = /^T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?[+-](?:0\d|1[0-5]):[0-5]\d$/;

/** The rest of a text after a valid date; null where there is none. */
function afterDay(text: string): string | null {
  const [start = "", ...parts] = dayPattern.exec(text) ?? [];
  const [year = 0, month = 0, day = 0] = parts.map(Number);
  if (year < 1 || year > lastYear) return null;
  // The calendar repeats after 400 years, and Date ends before PostgreSQL does. Date accepts 30 February.
  const date = new Date(Date.UTC(2000 + (year % 400), month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
    ? text.slice(start.length)
    : null;
}

const isDay: Fits = (value) => typeof value === "string" && afterDay(value) === "";
const isInstant: Fits = (value) =>
  typeof value === "string" && timePattern.test(afterDay(value) ?? "");

const kinds = new Map<unknown, Fits>([
  [TYPES.uuid, isUuid],
  [TYPES.text, isText],
  [TYPES.int2, isWithin(16)],
  [TYPES.int, isWithin(32)],
  [TYPES.bigint, isWithin(64)],
  [TYPES.numeric, isNumeric],
  [TYPES.boolean, (value) => typeof value === "boolean"],
  [TYPES.timestamptz, isInstant],
  [TYPES.date, isDay],
]);

/** Whether a value of a cursor can be one of a column of this type; true for unknown types. */
export function fitsType(codec: PgCodec, value: unknown): boolean {
  if (codec.domainOfCodec) return fitsType(codec.domainOfCodec, value);
  if (isEnumCodec(codec)) return codec.values.some((one) => one.value === value);
  return kinds.get(codec)?.(value) ?? true;
}
