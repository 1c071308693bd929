import type { Filter } from "./filter.ts";
import {
  compareValues,
  fieldsOf,
  parseFilter,
  matchesFilter,
  requiredComparisons,
} from "./filter.ts";
import { ApiProblem } from "./problem.ts";
import type { Entry, Json, Row, Table } from "./table.ts";
import { firstAtLeast } from "./table.ts";

/** The query options of a request for an entity set. */
export interface Query {
  filter: Filter | null;
  order: { field: string; down: boolean }[];
  select: string[] | null;
  /** The selected properties of the lines; empty for all; null without lines. */
  lines: string[] | null;
  top: number;
  /** The key after which the page starts, from `$skiptoken`. */
  after: string | null;
}

const known = ["$filter", "$orderby", "$select", "$expand", "$top", "$skiptoken"];

/** @throws ApiProblem for unsupported options and invalid values */
export function readQuery(search: URLSearchParams): Query {
  for (const name of search.keys())
    if (!known.includes(name))
      throw new ApiProblem(400, "BadRequest", `The query option '${name}' is not supported.`);
  const filter = search.get("$filter");
  const top = search.get("$top") ?? "20000";
  if (!/^\d{1,9}$/.test(top)) throw new ApiProblem(400, "BadRequest", "Invalid value for '$top'.");
  return {
    filter: filter === null ? null : parseFilter(filter),
    order: (search.get("$orderby") ?? "").split(",").filter(Boolean).map(readOrder),
    select: search.get("$select")?.split(",") ?? null,
    lines: readExpand(search.get("$expand")),
    top: Number(top),
    after: search.get("$skiptoken"),
  };
}

function readOrder(term: string) {
  const match = /^(\w+)( (asc|desc))?$/.exec(term.trim());
  if (match === null) throw new ApiProblem(400, "BadRequest", "Invalid value for '$orderby'.");
  return { field: match[1] ?? "", down: match[3] === "desc" };
}

function readExpand(expand: string | null): string[] | null {
  if (expand === null) return null;
  const match = /^salesOrderLines(?:\(\$select=([\w,]+)\))?$/.exec(expand);
  if (match === null)
    throw new ApiProblem(400, "BadRequest", `Could not expand '${expand.slice(0, 60)}'.`);
  return match[1]?.split(",") ?? [];
}

/**
 * Returns at limit `limit` records of a query, and whether there are more. @throws ApiProblem for an unknown field
 */
export function runQuery(
  table: Table,
  query: Query,
  limit: number,
): { entries: Entry[]; more: boolean } {
  const sample = table.entries()[0];
  if (sample === undefined) return { entries: [], more: false };
  const row = table.show(sample);
  const ordered = query.order.map(({ field }) => field);
  const filtered = query.filter === null ? [] : fieldsOf(query.filter);
  checkFields(row, [...ordered, ...filtered, ...(query.select ?? [])]);
  const lines = row["salesOrderLines"];
  const line = Array.isArray(lines) ? lines[0] : undefined;
  if (query.lines !== null && line !== null && typeof line === "object" && !Array.isArray(line))
    checkFields(line, query.lines);
  const wanted = Math.min(limit, query.top);
  const found: Entry[] = [];
  // The record after the last wanted one shows that there are more.
  for (const entry of inOrder(table, query)) {
    if (found.length === wanted) return { entries: found, more: query.top > wanted };
    found.push(entry);
  }
  return { entries: found, more: false };
}

function* inOrder(table: Table, query: Query): Generator<Entry> {
  let begun = query.after === null;
  for (const entry of ordered(table, query)) {
    if (begun) yield entry;
    else begun = entry.key === query.after;
  }
  if (!begun) throw new ApiProblem(400, "BadRequest_InvalidToken", "The skip token is not valid.");
}

function ordered(table: Table, query: Query): Iterable<Entry> {
  const [first, second, third] = query.order;
  const byChange =
    first?.field === "lastModifiedDateTime" &&
    third === undefined &&
    (second === undefined || (second.field === "number" && !second.down));
  if (byChange) return matching(table, query, first.down);
  const entries = [...matching(table, query, false)];
  const terms = query.order.length > 0 ? query.order : [{ field: "number", down: false }];
  return entries.sort((a, b) => {
    for (const { field, down } of terms) {
      const order = compareValues(valueOf(table, a, field), valueOf(table, b, field));
      if (order !== 0) return down ? -order : order;
    }
    return 0;
  });
}

/**
 * Yields the matching records in order of change. Limits of time in the filter narrow the range, so that a page
 * needs no full scan.
 */
function* matching(table: Table, { filter }: Query, down: boolean): Generator<Entry> {
  const numbers = filter === null ? null : numbersIn(filter);
  const all =
    numbers === null ? table.entries() : numbers.flatMap((number) => table.find(number) ?? []);
  if (numbers !== null || down) {
    for (const entry of down ? all.toReversed() : all)
      if (isMatch(table, filter, entry)) yield entry;
    return;
  }
  const times = filter === null ? [] : requiredComparisons(filter).filter(isTime);
  const from = times.filter(({ operator }) => operator.startsWith("g")).map(instantOf);
  const to = times.filter(({ operator }) => operator.startsWith("l")).map(instantOf);
  const start = firstAtLeast(all, { modified: Math.max(...from, -8.64e15), key: "" });
  for (let place = start; place < all.length; place++) {
    const entry = all[place];
    if (entry === undefined || to.some((end) => entry.modified > end)) return;
    if (isMatch(table, filter, entry)) yield entry;
  }
}

const isTime = ({ field }: { field: string }) => field === "lastModifiedDateTime";
const instantOf = ({ value }: { value: unknown }) => Date.parse(String(value));

/** The numbers of a filter that only lists numbers; null for any other filter. */
function numbersIn(filter: Filter): string[] | null {
  const parts = "or" in filter ? filter.or : [filter];
  const numbers = parts.flatMap((part) =>
    "field" in part && part.field === "number" && part.operator === "eq"
      ? [String(part.value)]
      : [],
  );
  return numbers.length === parts.length ? [...new Set(numbers)] : null;
}

function isMatch(table: Table, filter: Filter | null, entry: Entry): boolean {
  return filter === null || matchesFilter(filter, (field) => valueOf(table, entry, field));
}

function valueOf(table: Table, entry: Entry, field: string): Json {
  if (field === "number") return entry.key;
  if (field === "lastModifiedDateTime") return new Date(entry.modified).toISOString();
  return table.show(entry)[field] ?? null;
}

/** Refuses properties that the records do not have. */
function checkFields(row: Row, fields: readonly string[]): void {
  for (const field of fields)
    if (!Object.hasOwn(row, field))
      throw new ApiProblem(
        400,
        "BadRequest",
        `Could not find a property named '${field}' on this type.`,
      );
}

/** Returns the selected properties of a record. */
export function project(row: Row, { select, lines }: Pick<Query, "select" | "lines">): Row {
  const { salesOrderLines, ...own } = row;
  const shown = pickProperties(own, select);
  if (lines !== null && Array.isArray(salesOrderLines))
    shown["salesOrderLines"] = salesOrderLines.map((line) =>
      line !== null && typeof line === "object" && !Array.isArray(line)
        ? pickProperties(line, lines.length > 0 ? lines : null)
        : line,
    );
  // A test may have replaced the list by another value, which is shown unchanged.
  else if (lines !== null) shown["salesOrderLines"] = salesOrderLines ?? null;
  return shown;
}

function pickProperties(row: Row, select: readonly string[] | null): Row {
  if (select === null) return { ...row };
  const shown: Row = {};
  const etag = row["@odata.etag"];
  if (etag !== undefined) shown["@odata.etag"] = etag;
  for (const property of select) {
    const value = row[property];
    if (value !== undefined) shown[property] = value;
  }
  return shown;
}
