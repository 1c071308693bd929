import { EngineProblem } from "./problem.ts";
import type { Field, Schema } from "./schema.ts";
import { scalarOf } from "./schema.ts";
import type { StoredDocument } from "./storedDocument.ts";
import { valuesOf } from "./storedDocument.ts";
import type { Tokeniser } from "./tokens.ts";

export interface FacetRequest {
  field: Field;
  order: "count" | "ascending" | "descending";
}

export interface FacetOptions {
  requests: readonly FacetRequest[];
  /** Maximum number of values of each facet. */
  limit: number;
  /** Limits this field to values with these words. The last word is a prefix. */
  query: { field: string; words: readonly string[] } | null;
  tokeniser: Tokeniser;
  mark: readonly [start: string, end: string];
}

/**
 * Parses Typesense's `facet_by`: fields, each with an optional `(sort_by: _alpha:asc)` or `_alpha:desc`.
 * @throws EngineProblem naming a field that has no facet
 */
export function parseFacets(text: string, { fields }: Schema): FacetRequest[] {
  const pieces = text
    .split(/,(?![^(]*\))/u)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
  return pieces.map((piece) => {
    const match = /^([^()]+?)\s*(?:\((.*)\))?$/su.exec(piece);
    const name = match?.[1];
    if (match === null || name === undefined) throw new EngineProblem(400, "Invalid facet format.");
    const field = fields.find((one) => one.name === name && one.facet);
    if (field === undefined)
      throw new EngineProblem(404, `Could not find a facet field named \`${name}\` in the schema.`);
    return { field, order: parseOrder(match[2]?.trim()) };
  });
}

function parseOrder(option: string | undefined): FacetRequest["order"] {
  if (option === undefined || option === "") return "count";
  const order = /^sort_by\s*:\s*_alpha\s*:\s*(asc|desc)$/iu.exec(option)?.[1]?.toLowerCase();
  if (order === undefined)
    throw new EngineProblem(400, `Invalid facet param \`${option}\`: only \`sort_by: _alpha\`.`);
  return order === "asc" ? "ascending" : "descending";
}

/** Counts the documents with each value. */
export function countFacets(found: readonly StoredDocument[], options: FacetOptions): unknown[] {
  return options.requests.map((request) => countFacet(found, request, options));
}

function countFacet(
  found: readonly StoredDocument[],
  request: FacetRequest,
  options: FacetOptions,
): unknown {
  const { field, order } = request;
  const counts = new Map<unknown, number>();
  const totals = { min: Infinity, max: -Infinity, sum: 0, values: 0 };
  for (const { document } of found) {
    const value = document[field.name];
    // A value that repeats within one document counts once.
    const values = Array.isArray(value) ? new Set<unknown>(value) : valuesOf(value);
    for (const one of values) {
      counts.set(one, (counts.get(one) ?? 0) + 1);
      if (typeof one !== "number") continue;
      totals.min = Math.min(totals.min, one);
      totals.max = Math.max(totals.max, one);
      totals.sum += one;
      totals.values++;
    }
  }
  const highlight = highlighter(field, options);
  const shown = [...counts]
    .map(([raw, count]) => ({ count, highlighted: highlight(String(raw)), value: String(raw) }))
    .filter(
      (one): one is { count: number; highlighted: string; value: string } =>
        one.highlighted !== null,
    )
    .sort((a, b) => compare(a, b, order));
  const isNumber = scalarOf(field) !== "string" && scalarOf(field) !== "bool" && totals.values > 0;
  return {
    counts: shown.slice(0, options.limit),
    field_name: field.name,
    sampled: false,
    stats: {
      ...(isNumber && {
        avg: totals.sum / totals.values,
        max: totals.max,
        min: totals.min,
        sum: totals.sum,
      }),
      total_values: shown.length,
    },
  };
}

interface Counted {
  count: number;
  value: string;
}

function compare(a: Counted, b: Counted, order: FacetRequest["order"]): number {
  const byValue = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
  if (order === "count") return b.count - a.count || byValue;
  return order === "ascending" ? byValue : -byValue;
}

/** Returns a function that marks the query's words in a value, and returns null when one of them is missing. */
function highlighter(field: Field, options: FacetOptions): (value: string) => string | null {
  const { query, tokeniser, mark } = options;
  if (query?.field !== field.name || query.words.length === 0) return (value) => value;
  const last = query.words.length - 1;
  return (value) => {
    const tokens = tokeniser.tokens(value);
    let shown = value;
    // Marked from the end, so that the offsets before stay valid.
    const places: [start: number, end: number][] = [];
    for (const [place, word] of query.words.entries()) {
      const token = tokens.find(({ text }) =>
        place === last ? text.startsWith(word) : text === word,
      );
      if (token === undefined) return null;
      const end = place === last ? token.start + word.length : token.end;
      places.push([token.start, Math.min(end, token.end)]);
    }
    for (const [start, end] of places.sort(([a], [b]) => b - a))
      shown = `${shown.slice(0, start)}${mark[0]}${shown.slice(start, end)}${mark[1]}${shown.slice(end)}`;
    return shown;
  };
}
