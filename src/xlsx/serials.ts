const DAY = 86_400_000;
/** 1970-01-01 as a serial number of the 1900 system. */
const EPOCH_1900 = 25_569;
/** The 1904 system starts this many days later. */
const DAYS_TO_1904 = 1_462;
const FIRST = Date.UTC(1900, 2, 1);
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const ISO_DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const ISO_MOMENT =
  /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)$/i;

/** A date as milliseconds at midnight UTC; null if invalid. */
export function dayOf(value: Date | string): number | null {
  if (value instanceof Date) {
    const time = value.getTime();
    return Number.isNaN(time) ? null : Math.floor(time / DAY) * DAY;
  }
  const parts = ISO_DAY.exec(value);
  if (!parts) return null;
  const time = Date.parse(`${value}T00:00:00Z`);
  // JavaScript parses 30 February as 1 or 2 March.
  if (Number.isNaN(time) || new Date(time).getUTCDate() !== Number(parts[3])) return null;
  return time;
}

/** A timestamp in milliseconds; null if invalid or without time zone. */
export function momentOf(value: Date | string): number | null {
  const time =
    value instanceof Date
      ? value.getTime()
      : ISO_MOMENT.test(value)
        ? Date.parse(value.replace(" ", "T").replace(/([+-]\d{2})$/, "$1:00"))
        : NaN;
  return Number.isNaN(time) ? null : time;
}

/**
 * The serial number of a timestamp. Null where programs disagree: before 1 March 1900 (Excel has a 29 February 1900),
 * before 1904 in the 1904 system, and after the year 9999.
 */
export function serialOf(time: number, date1904 = false): number | null {
  if (time < FIRST || time > LAST) return null;
  const serial = time / DAY + EPOCH_1900 - (date1904 ? DAYS_TO_1904 : 0);
  return serial < 0 ? null : serial;
}

/** `2026-01-31`, also for years that do not have four digits. */
export function isoDay(time: number): string {
  return new Date(time).toISOString().replace(/T.*/, "");
}

/** `2026-01-31 12:34:56` in UTC, with milliseconds unless they are zero. */
export function isoMoment(time: number): string {
  return new Date(time)
    .toISOString()
    .replace("T", " ")
    .replace(/(?:\.000)?Z$/, "");
}
