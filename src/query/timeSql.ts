import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { QueryValue, TermNode } from "./ast.ts";
import type { Bind, Test } from "./bind.ts";
import { addUnits, startOfDay } from "./calendar.ts";
import type { FieldKind } from "./searchTable.ts";
import { rejectReversedRange } from "./rejectTerm.ts";
import type { Interval } from "./values.ts";
import { parseInstantValue } from "./values.ts";

const RELATIVE = /^(?:now|today|yesterday|tomorrow)/;
const UNUSED = new Date(0);

type TimeKind = "instant" | "timestamp" | "date";

export function isTime(kind: FieldKind): kind is TimeKind {
  return kind === "instant" || kind === "timestamp" || kind === "date";
}

/** The condition of a term on a time, or on a date as midnight UTC. */
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

/** A range of time, `from` inclusive and `to` exclusive; null is open. */
type TimeRange = { from: Date | null; to: Date | null };

function intervalsOf(term: TermNode, read: (value: QueryValue) => Interval): TimeRange[] {
  switch (term.operator) {
    case "eq":
    case "in":
      return term.values.map(read);
    case "gt":
      return [{ from: read(term.values[0]).to, to: null }];
    case "gte":
      return [{ from: read(term.values[0]).from, to: null }];
    case "lt":
      return [{ from: null, to: read(term.values[0]).from }];
    case "lte":
      return [{ from: null, to: read(term.values[0]).to }];
    case "range": {
      const [lower, upper] = term.values.map((value) => value && read(value));
      const [lowerIncluded, upperIncluded] = term.inclusive;
      if (lower && upper && lower.from >= upper.to) rejectReversedRange(term);
      return [
        {
          from: (lowerIncluded ? lower?.from : lower?.to) ?? null,
          to: (upperIncluded ? upper?.to : upper?.from) ?? null,
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

function boundTime(kind: TimeKind, time: Date, bind: Bind): SQL {
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
