import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryValue, TermNode } from "./ast.ts";
import type { Bind, Test } from "./bind.ts";
import { type CalendarUnit, addUnits, startOfDay } from "./calendar.ts";
import type { FieldKind } from "./searchTable.ts";
import { rejectReversedRange } from "./rejectTerm.ts";
import type { Interval, RelativeDay } from "./values.ts";
import { parseInstantValue } from "./values.ts";

const RELATIVE = /^(?:now|today|yesterday|tomorrow)/;
const UNUSED = new Date(0);

/** The current moment, for a value such as `today`. */
export type Clock = (value: QueryValue) => Date;

type TimeKind = "instant" | "timestamp" | "date";

export function isTime(kind: FieldKind): kind is TimeKind {
  return kind === "instant" || kind === "timestamp" || kind === "date";
}

/**
 * The condition of a term on a time, or on a date as midnight UTC. `today` is the day in the caller's time zone, which
 * the database knows.
 */
export function timeCondition(term: TermNode, kind: TimeKind, clock: Clock): Test {
  const read = (value: QueryValue) =>
    parseInstantValue(value, RELATIVE.test(value.text) ? clock(value) : UNUSED);
  const intervals = intervalsOf(term, read);
  return (column, bind) =>
    sql.join(
      intervals.map((interval) => within(column, kind, interval, bind)),
      " or ",
    );
}

/** The start or end of a range; relative to today, `day` and whether it is the end of that value. */
type End = { time: Date; day?: RelativeDay; isAfter: boolean };
/** A range of time, `from` inclusive and `to` exclusive; null is open. */
type TimeRange = { from: End | null; to: End | null };

const startOf = ({ from, relativeDay }: Interval): End => ({
  time: from,
  ...(relativeDay && { day: relativeDay }),
  isAfter: false,
});
const endOf = ({ to, relativeDay }: Interval): End => ({
  time: to,
  ...(relativeDay && { day: relativeDay }),
  isAfter: true,
});

function intervalsOf(term: TermNode, read: (value: QueryValue) => Interval): TimeRange[] {
  switch (term.operator) {
    case "eq":
    case "in":
      return term.values.map(read).map((value) => ({ from: startOf(value), to: endOf(value) }));
    case "gt":
      return [{ from: endOf(read(term.values[0])), to: null }];
    case "gte":
      return [{ from: startOf(read(term.values[0])), to: null }];
    case "lt":
      return [{ from: null, to: startOf(read(term.values[0])) }];
    case "lte":
      return [{ from: null, to: endOf(read(term.values[0])) }];
    case "range": {
      const [lower, upper] = term.values.map((value) => value && read(value));
      const [lowerIncluded, upperIncluded] = term.inclusive;
      if (lower && upper && isReversed(lower, upper)) rejectReversedRange(term);
      return [
        {
          from: lower ? (lowerIncluded ? startOf(lower) : endOf(lower)) : null,
          to: upper ? (upperIncluded ? endOf(upper) : startOf(upper)) : null,
        },
      ];
    }
    default:
      throw new Error(`${term.operator} does not ask for a time`);
  }
}

/** More than the start of a day, or of the same day of another month, differs between two time zones. */
const zoneDays = 5;

function isReversed(lower: Interval, upper: Interval): boolean {
  const isMixed = !lower.relativeDay !== !upper.relativeDay;
  return lower.from >= (isMixed ? addUnits(upper.to, zoneDays, "d") : upper.to);
}

function within(column: SQL, kind: TimeKind, { from, to }: TimeRange, bind: Bind): SQL {
  const ends = [
    from && sql`${column} >= ${boundTime(kind, from.time, bind, from.day && -zoneDays)}`,
    to && sql`${column} < ${boundTime(kind, to.time, bind, to.day && zoneDays)}`,
    // The bounds above are wider and of known values, which the planner compares with the statistics.
    from?.day && sql`${column} >= ${boundDay(kind, from.day, from.isAfter, bind)}`,
    to?.day && sql`${column} < ${boundDay(kind, to.day, to.isAfter, bind)}`,
  ].filter((end) => end != null);
  return sql`(${sql.join(ends, " and ")})`;
}

function boundTime(kind: TimeKind, exact: Date, bind: Bind, days = 0): SQL {
  const time = days === 0 ? exact : withinYears(addUnits(exact, days, "d"));
  if (kind === "date") {
    // A date is compared with a date: under row-level security an index serves no comparison with a timestamp.
    const day = startOfDay(time);
    const next = day < time ? addUnits(day, 1, "d") : day;
    return sql`${bind(isoText(next).slice(0, -"T00:00:00.000Z".length))}::date`;
  }
  const bound = sql`${bind(isoText(time))}::timestamptz`;
  return kind === "instant" ? bound : sql`(${bound} at time zone 'UTC')`;
}

function withinYears(time: Date): Date {
  const years = [new Date("0001-01-01"), new Date("+010000-01-01")] as const;
  return time < years[0] ? years[0] : time > years[1] ? years[1] : time;
}

/** ISO 8601 writes the year 10000 as `+010000`, which PostgreSQL does not parse. */
function isoText(time: Date): string {
  return time.toISOString().replace(/^\+0*/, "");
}

/** PostgreSQL's names of the units. */
const unitNames: Record<CalendarUnit, string> = {
  y: "year",
  M: "month",
  w: "week",
  d: "day",
  h: "hour",
  m: "minute",
  s: "second",
  ms: "millisecond",
};

function boundDay(
  kind: TimeKind,
  { now, days, count, unit }: RelativeDay,
  isAfter: boolean,
  bind: Bind,
): SQL {
  // A subquery, because a function would run for each row.
  const zone = sql`(select own_time_zone())`;
  const isDay = "dwMy".includes(unit);
  const length = isDay ? sql`interval '1 day'` : sql`interval '1 millisecond'`;
  const after = isAfter ? sql` + ${length}` : sql.blank;
  const moved = sql`${bind(`${count} ${unitNames[unit]}`)}::interval${after}`;
  const today = sql`((${bind(isoText(now))}::timestamptz at time zone ${zone})::date + ${sql.literal(days)})`;
  const start = isDay
    ? sql`((${today} + ${moved}) at time zone ${zone})`
    : sql`((${today}::timestamp at time zone ${zone}) + ${moved})`;
  if (kind === "instant") return start;
  if (kind === "timestamp") return sql`(${start} at time zone 'UTC')`;
  // The first day that begins at this time or later.
  return sql`((${start} at time zone ${zone}) + interval '1 day - 1 microsecond')::date`;
}
