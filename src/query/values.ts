import { isUuid } from "../postgres/uuid.ts";
import type { QueryValue } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import type { CalendarUnit } from "./calendar.ts";
import { addUnits, instantOf, startOfDay } from "./calendar.ts";
import { excerpt } from "./excerpt.ts";
import { didYouMean } from "../text/suggest.ts";

/** The time of a value: `from` inclusive, `to` exclusive, never empty. */
export type Interval = {
  from: Date;
  to: Date;
  /** Of a time relative to today: what is added to the start of the day that contains `now`. */
  relativeDay?: RelativeDay;
};

/** A number of days, and then of calendar units, after today. */
export type RelativeDay = { now: Date; days: number; count: number; unit: CalendarUnit };

const INTEGER = /^-?\d+$/;
const DECIMAL = /^(-?)(\d+(?:\.\d+)?|\.\d+)(?:[eE]([+-]?\d{1,4}))?$/;
const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/;
const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|([+-])(\d\d):(\d\d))?$/;
const RELATIVE = /^(now|today|yesterday|tomorrow)(?:([+-])(\d{1,6})([smhdwMy]))?$/;

const MAX_DIGITS = 100;
const MAX_EXPONENT = 300;
const MAX_LISTED_VALUES = 10;

/** Minutes; Kiribati is 14 hours ahead of UTC. */
const MAX_ZONE_OFFSET = 14 * 60;

const MIDNIGHT = { hour: 0, minute: 0, second: 0, millisecond: 0 };

const DAY_OFFSETS = { today: 0, yesterday: -1, tomorrow: 1 } as const;

/** A 32-bit integer. Throws a `QuerySyntaxError` at the value otherwise, as all functions here do. */
export function parseIntegerValue(value: QueryValue): number {
  if (!INTEGER.test(value.text)) refuse(value, "is not a whole number");
  const number = Number(value.text);
  if (number < -(2 ** 31) || number >= 2 ** 31) refuse(value, "is beyond 32 bits");
  return number === 0 ? 0 : number;
}

/** A 64-bit integer. */
export function parseBigintValue(value: QueryValue): bigint {
  if (!INTEGER.test(value.text)) refuse(value, "is not a whole number");
  // Converting a long text is slow, so its length is checked first.
  const digits = value.text.replace(/^-?0*/, "");
  const number = digits.length > 19 ? null : BigInt(value.text);
  if (number === null || BigInt.asIntN(64, number) !== number) refuse(value, "is beyond 64 bits");
  return number;
}

/**
 * A decimal number as text, valid for `numeric` and `double precision`: at most 100 digits, an exponent of at most 300,
 * no overflow or underflow as a double.
 */
export function parseDecimalValue(value: QueryValue): string {
  const [, , digits = "", exponent = "0"] = DECIMAL.exec(value.text) ?? [];
  if (digits === "") refuse(value, "is not a number (such as 12 or 12.50)");
  const number = Number(value.text);
  const vanishes = number === 0 && /[1-9]/.test(digits);
  if (
    digits.length > MAX_DIGITS ||
    Math.abs(Number(exponent)) > MAX_EXPONENT ||
    !Number.isFinite(number) ||
    vanishes
  ) {
    refuse(value, "is beyond the numbers that can be compared");
  }
  return value.text;
}

/** `true` or `false`. */
export function parseBooleanValue(value: QueryValue): boolean {
  if (value.text !== "true" && value.text !== "false") refuse(value, "is neither true nor false");
  return value.text === "true";
}

/** A UUID with its hyphens, in lower case. */
export function parseUuidValue(value: QueryValue): string {
  if (!isUuid(value.text)) refuse(value, "is not an id (a UUID)");
  return value.text.toLowerCase();
}

/** One of the known values, exactly. */
export function parseEnumValue(value: QueryValue, known: readonly string[]): string {
  if (known.includes(value.text)) return value.text;
  const listed = known.slice(0, MAX_LISTED_VALUES).join(", ");
  const more = known.length > MAX_LISTED_VALUES ? ", …" : "";
  refuse(value, `is not one of ${listed}${more}${didYouMean(value.text, known)}`);
}

/**
 * The time of a date, timestamp or relative date in UTC, with `relativeDay` for other time zones: a year, month or day is all of it, `12:00Z` a minute,
 * `12:00:00Z` a second, `.000` and `now` a millisecond, `today` a day, also when shifted by days or more. Years 1 to
 * 9999; `to` may be the first instant of 10000.
 */
export function parseInstantValue(value: QueryValue, now: Date): Interval {
  const interval = dateInterval(value) ?? dateTimeInterval(value) ?? relativeInterval(value, now);
  if (interval === null) {
    refuse(value, "is not a date (such as 2026-01-31, 2026-01-31T12:00:00Z or now-7d)");
  }
  const { from } = interval;
  const beyond = from.getUTCFullYear() < 1 || from.getUTCFullYear() > 9999;
  if (Number.isNaN(from.getTime()) || beyond) refuse(value, "is beyond the years 1 to 9999");
  return interval;
}

function dateInterval(value: QueryValue): Interval | null {
  const match = DATE.exec(value.text);
  if (match === null) return null;
  const [, year, month, day] = match;
  const from = instantOf({ ...MIDNIGHT, ...numbers({ year, month: month ?? 1, day: day ?? 1 }) });
  if (from === null) refuse(value, "is not in the calendar");
  return intervalOf(from, day !== undefined ? "d" : month !== undefined ? "M" : "y");
}

function dateTimeInterval(value: QueryValue): Interval | null {
  const match = DATE_TIME.exec(value.text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone, sign, zoneHour, zoneMinute] =
    match;
  if (zone === undefined) refuse(value, "has no time zone (add Z for UTC)");
  const millisecond = (fraction ?? "").padEnd(3, "0");
  const local = instantOf(
    numbers({ year, month, day, hour, minute, second: second ?? 0, millisecond }),
  );
  if (local === null) refuse(value, "is not in the calendar");
  const zoneMinutes = Number(zoneHour ?? 0) * 60 + Number(zoneMinute ?? 0);
  if (zoneMinutes > MAX_ZONE_OFFSET || Number(zoneMinute ?? 0) > 59) {
    refuse(value, "has a time zone that does not exist");
  }
  const from = addUnits(local, sign === "-" ? zoneMinutes : -zoneMinutes, "m");
  return intervalOf(from, fraction !== undefined ? "ms" : second !== undefined ? "s" : "m");
}

function relativeInterval(value: QueryValue, now: Date): Interval | null {
  const match = RELATIVE.exec(value.text);
  if (match === null) return null;
  const [, name, sign, digits, unit] = match;
  const count = Number(digits ?? 0) * (sign === "-" ? -1 : 1);
  const move = (start: Date) => addUnits(start, count, (unit ?? "d") as CalendarUnit);
  if (name === "now") return intervalOf(move(now), "ms");
  const days = DAY_OFFSETS[name as keyof typeof DAY_OFFSETS];
  const day = addUnits(startOfDay(now), days, "d");
  const staysMidnight = unit === undefined || "dwMy".includes(unit);
  const relativeDay = { now, days, count, unit: (unit ?? "d") as CalendarUnit };
  return { ...intervalOf(move(day), staysMidnight ? "d" : "ms"), relativeDay };
}

function intervalOf(from: Date, unit: CalendarUnit): Interval {
  return { from, to: addUnits(from, 1, unit) };
}

function numbers<Name extends string>(
  parts: Record<Name, string | number | undefined>,
): Record<Name, number> {
  const entries = Object.entries(parts).map(([name, text]) => [name, Number(text)]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

function refuse(value: QueryValue, problem: string): never {
  const { text, position, end } = value;
  throw new QuerySyntaxError(`${excerpt(text)} ${problem}`, position, end - position);
}
