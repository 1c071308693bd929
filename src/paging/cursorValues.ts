import type { PgCodec } from "postgraphile/@dataplan/pg";
import { isEnumCodec, TYPES } from "postgraphile/@dataplan/pg";
import { isUuid } from "../postgres/uuid.ts";

// A cursor is written by us, but sent by callers, who may have made it up: PostgreSQL would refuse a value that is not of its
// column's type, and name no argument.

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

/** Digits before and after the point are no more than PostgreSQL can have (its manual, "Numeric Types"). */
const isNumeric: Fits = (value) =>
  (typeof value === "number" || typeof value === "string") &&
  /^(?:-?\d{1,131072}(?:\.\d{1,16383})?|NaN|-?Infinity)$/.test(String(value));

/** As `to_char` writes days, whose years may have more than four digits. */
const dayPattern = /^(\d{4,6})-(\d{2})-(\d{2})/;
/** The last of PostgreSQL's times (its manual, "Date/Time Types"); days go on for longer, but are written as times are. */
const lastYear = 294_276;
const timePattern = /^T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?[+-](?:0\d|1[0-5]):[0-5]\d$/;

/** The rest of a text that begins with a day of the calendar; null where it does not. */
function afterDay(text: string): string | null {
  const [start = "", ...parts] = dayPattern.exec(text) ?? [];
  const [year = 0, month = 0, day = 0] = parts.map(Number);
  if (year < 1 || year > lastYear) return null;
  // The calendar is the same again after 400 years, and Date ends before PostgreSQL does. It takes the 30th of February for a day of March.
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

/** Whether a value in a cursor, which is not null, can be one of a column of this type; of types that are not known it is taken for one. */
export function fitsType(codec: PgCodec, value: unknown): boolean {
  if (codec.domainOfCodec) return fitsType(codec.domainOfCodec, value);
  if (isEnumCodec(codec)) return codec.values.some((one) => one.value === value);
  return kinds.get(codec)?.(value) ?? true;
}
