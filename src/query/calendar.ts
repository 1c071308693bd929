/** Parts of a UTC date and time; `month` counts from 1. */
export type CalendarParts = {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
};

export type CalendarUnit = "y" | "M" | "w" | "d" | "h" | "m" | "s" | "ms";

const MILLISECONDS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** The instant of the parts; null for dates that do not exist (30 February, 24:00, second 60). */
export function instantOf(parts: CalendarParts): Date | null {
  const { year, month, day, hour, minute, second, millisecond } = parts;
  if (hour > 23 || minute > 59 || second > 59) return null;
  const instant = new Date(0);
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  instant.setUTCFullYear(year, month - 1, day);
  instant.setUTCHours(hour, minute, second, millisecond);
  // A day or month that does not exist overflows into another month.
  return instant.getUTCMonth() === month - 1 ? instant : null;
}

/** Midnight (UTC) of the day of an instant. */
export function startOfDay(instant: Date): Date {
  const midnight = new Date(instant);
  midnight.setUTCHours(0, 0, 0, 0);
  return midnight;
}

/**
 * Adds whole units. A month or year later is the same day of the month, or its last day. Far away the result is an
 * invalid date.
 */
export function addUnits(instant: Date, count: number, unit: CalendarUnit): Date {
  if (unit !== "M" && unit !== "y") {
    return new Date(instant.getTime() + count * MILLISECONDS[unit]);
  }
  const moved = new Date(instant);
  const day = moved.getUTCDate();
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + count * (unit === "y" ? 12 : 1));
  const lastDay = new Date(moved);
  lastDay.setUTCMonth(lastDay.getUTCMonth() + 1, 0);
  moved.setUTCDate(Math.min(day, lastDay.getUTCDate()));
  return moved;
}
