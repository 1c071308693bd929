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

type TimeKind = "instant" | "timestamp" | "date";

export function isTime(kind: FieldKind): kind is TimeKind {
  return kind === "instant" || kind === "timestamp" || kind === "date";
}

/**
 * The condition of a term on a time, or on a date as midnight UTC. A date has no time zone: `today` is that of the
 * caller's calendar.
 */
export function timeCondition(term: TermNode, kind: TimeKind, clock: () => Date): Test {
  const read = (value: QueryValue) =>
    parseInstantValue(value, RELATIVE.test(value.text) ? clock() : UNUSED);
  const intervals = intervalsOf(term, read);
  return (column, bind) =>
    sql.join(
      intervals.map((interval) => within(column, kind, interval, bind)),
      " or ",
    );
}

/** The start or end of a range; of a date relative to today, `day` and the whole days after it. */
type End = { time: Date; day?: RelativeDay; daysAfter: number };
/** A range of time, `from` inclusive and `to` exclusive; null is open. */
type TimeRange = { from: End | null; to: End | null };

const startOf = ({ from, relativeDay }: Interval): End => ({
  time: from,
  ...(relativeDay && { day: relativeDay }),
  daysAfter: 0,
});
const endOf = ({ to, relativeDay }: Interval): End => ({
  time: to,
  ...(relativeDay && { day: relativeDay }),
  daysAfter: 1,
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
      if (lower && upper && lower.from >= upper.to) rejectReversedRange(term);
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

function within(column: SQL, kind: TimeKind, { from, to }: TimeRange, bind: Bind): SQL {
  const ends = [
    from && sql`${column} >= ${boundTime(kind, from, bind)}`,
    to && sql`${column} < ${boundTime(kind, to, bind)}`,
  ].filter((end) => end !== null);
  return sql`(${sql.join(ends, " and ")})`;
}

function boundTime(kind: TimeKind, { time, day: relative, daysAfter }: End, bind: Bind): SQL {
  if (kind === "date" && relative) return boundDay(relative, daysAfter, bind);
  if (kind === "date") {
    // A date is compared with a date: under row-level security an index serves no comparison with a timestamp.
    const day = startOfDay(time);
    const next = day < time ? addUnits(day, 1, "d") : day;
    return sql`${bind(isoText(next).slice(0, -"T00:00:00.000Z".length))}::date`;
  }
  const bound = sql`${bind(isoText(time))}::timestamptz`;
  return kind === "instant" ? bound : sql`(${bound} at time zone 'UTC')`;
}

/** ISO 8601 writes the year 10000 as `+010000`, which PostgreSQL does not parse. */
function isoText(time: Date): string {
  return time.toISOString().replace(/^\+0*/, "");
}

/** PostgreSQL's names of the units of whole days. */
const dayUnits: Partial<Record<CalendarUnit, string>> = {
  d: "day",
  w: "week",
  M: "month",
  y: "year",
};

function boundDay({ days, count, unit }: RelativeDay, daysAfter: number, bind: Bind): SQL {
  const moved = bind(`${count} ${dayUnits[unit] ?? "day"}`);
  return sql`(((now() at time zone own_time_zone())::date + ${sql.literal(days)} + ${moved}::interval)::date + ${sql.literal(daysAfter)})`;
}
