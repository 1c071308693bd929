import type { QueryNode, QueryValue, TermNode, WordNode } from "../../../src/query/ast.ts";
import { parseInstantValue } from "../../../src/query/values.ts";

/** A row with values by API field name and related rows by relation name. */
export interface Row {
  values: Record<string, string | number | boolean | null>;
  related: Record<string, Row[]>;
}

/** The comparison kind of each field. */
export type Kinds = Record<string, "text" | "exact" | "number" | "boolean" | "enum" | "time">;

/** The context in which a search is evaluated without a database. */
export interface World {
  kinds: Kinds;
  words: readonly string[];
  now: Date;
}

/**
 * Whether a query matches a row. This is an independent, simple implementation to compare the SQL with.
 * A comparison with null does not match; its negation does.
 */
export function matches(node: QueryNode, row: Row, world: World): boolean {
  switch (node.kind) {
    case "and":
      return node.children.every((child) => matches(child, row, world));
    case "or":
      return node.children.some((child) => matches(child, row, world));
    case "not":
      return !matches(node.child, row, world);
    case "word":
      return world.words.some((name) => containsWord(node, row.values[name] ?? null));
    case "related":
      return rowsAt(row, node.relation.path).some((one) => matches(node.child, one, world));
    case "term": {
      const name = node.field.path.at(-1) ?? "";
      return rowsAt(row, node.field.path.slice(0, -1)).some((one) =>
        passes(node, one.values[name] ?? null, world.kinds[name] ?? "text", world.now),
      );
    }
  }
}

function rowsAt(row: Row, path: readonly string[]): Row[] {
  return path.reduce<Row[]>((rows, step) => rows.flatMap((one) => one.related[step] ?? []), [row]);
}

function folded(text: string): string {
  // The only letter in the tests that NFD does not decompose.
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ø", "o");
}

function containsWord({ text, prefix }: WordNode, value: Row["values"][string]): boolean {
  if (typeof value !== "string") return false;
  const [wanted, within] = [folded(text), folded(value)];
  const begins = prefix || wanted.length < 3;
  for (let at = within.indexOf(wanted); at >= 0; at = within.indexOf(wanted, at + 1))
    if (!begins || !/^\w/.test(wanted) || at === 0 || /[\s\-'().,]/.test(within.charAt(at - 1)))
      return true;
  return false;
}

function passes(
  term: TermNode,
  value: Row["values"][string],
  kind: Kinds[string],
  now: Date,
): boolean {
  if (value === null) return false;
  if (term.operator === "exists") return true;
  if (kind === "time") return passesTime(term, new Date(String(value)), now);
  const read = (written: QueryValue) =>
    kind === "number"
      ? Number(written.text)
      : kind === "boolean"
        ? written.text === "true"
        : kind === "text"
          ? folded(written.text)
          : written.text;
  const own = kind === "text" ? folded(String(value)) : kind === "number" ? Number(value) : value;
  const known = term.values.map((written) => written && read(written));
  const [first, second] = known as [string | number, string | number];
  switch (term.operator) {
    case "eq":
    case "in":
      return known.includes(own);
    case "prefix":
      return String(own).startsWith(String(first));
    case "gt":
      return own > first;
    case "gte":
      return own >= first;
    case "lt":
      return own < first;
    case "lte":
      return own <= first;
    case "range":
      return (
        (term.values[0] === null || (term.inclusive[0] ? own >= first : own > first)) &&
        (term.values[1] === null || (term.inclusive[1] ? own <= second : own < second))
      );
  }
}

/** A time value is an interval: `gt` begins at its end. */
function passesTime(term: TermNode, own: Date, now: Date): boolean {
  const intervals = term.values.map((written) => written && parseInstantValue(written, now));
  const [first, second] = intervals;
  const after = (place = first) => !place || own >= place.to;
  const fromStart = (place = first) => !place || own >= place.from;
  const before = (place = first) => !place || own < place.from;
  const toEnd = (place = first) => !place || own < place.to;
  switch (term.operator) {
    case "eq":
    case "in":
      return intervals.some((place) => fromStart(place) && toEnd(place));
    case "gt":
      return after();
    case "gte":
      return fromStart();
    case "lt":
      return before();
    case "lte":
      return toEnd();
    case "range":
      return (
        (term.inclusive[0] ? fromStart() : after()) &&
        (!second || (term.inclusive[1] ? toEnd(second) : before(second)))
      );
    default:
      return false;
  }
}
