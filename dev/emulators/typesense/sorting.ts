import { EngineProblem } from "./problem.ts";
import type { TextMatch } from "./ranking.ts";
import type { Field, Schema } from "./schema.ts";
import { isArrayField, isStringField } from "./schema.ts";
import type { StoredDocument } from "./storedDocument.ts";
import { numbersOf } from "./storedDocument.ts";

/** A document that was found. Without words in the query, `match` is null. */
export interface Hit {
  stored: StoredDocument;
  match: TextMatch | null;
}

interface SortKey {
  field: string;
  descending: boolean;
  missingFirst: boolean;
  /** For `_text_match`: the number of buckets, or their size. Hits in one bucket are ordered by the next key. */
  buckets?: number;
  bucketSize?: number;
}

const maxKeys = 3;
const textMatch = "_text_match";

/**
 * Parses Typesense's `sort_by`.
 * @throws EngineProblem naming a field that cannot be sorted by
 */
export function parseSort(text: string, schema: Schema): readonly SortKey[] {
  const keys = text
    .split(/,(?![^(]*\))/u)
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "")
    .map((piece) => parseKey(piece, schema));
  if (keys.length > maxKeys)
    throw new EngineProblem(422, "Only upto 3 sort_by fields can be specified.");
  const key = (field: string): SortKey => ({ field, descending: true, missingFirst: false });
  if (keys.length === 0) {
    const fallback = schema.default_sorting_field;
    return [key(textMatch), ...(fallback === "" ? [] : [key(fallback)])];
  }
  const hasMatch = keys.some(({ field }) => field === textMatch);
  return hasMatch || keys.length === maxKeys ? keys : [...keys, key(textMatch)];
}

function parseKey(piece: string, schema: Schema): SortKey {
  const match = /^([^(:]+?)\s*(?:\(([^)]*)\))?\s*:\s*(\w+)$/u.exec(piece);
  const field = match?.[1];
  if (match === null || field === undefined)
    throw new EngineProblem(400, "Parameter `sort_by` is malformed.");
  const order = match[3]?.toLowerCase();
  if (field !== textMatch) checkSortable(field, schema);
  if (order !== "asc" && order !== "desc")
    throw new EngineProblem(400, `Order for field\` ${field}\` should be either ASC or DESC.`);
  return {
    field,
    descending: order === "desc",
    missingFirst: false,
    ...parseOption(field, match[2]?.trim() ?? ""),
  };
}

function checkSortable(name: string, { fields }: Schema): void {
  const field = fields.find((one) => one.name === name);
  if (field === undefined || isArrayField(field) || !field.sort)
    throw new EngineProblem(
      404,
      `Could not find a field named \`${name}\` in the schema for sorting.`,
    );
}

function parseOption(field: string, option: string): Partial<SortKey> {
  if (option === "") return {};
  const [key, value, ...rest] = option.split(":").map((part) => part.trim());
  if (field === textMatch && rest.length === 0 && /^\d+$/.test(value ?? "")) {
    if (key === "buckets") return { buckets: Number(value) };
    if (key === "bucket_size") return { bucketSize: Number(value) };
  }
  if (field !== textMatch && key === "missing_values" && (value === "first" || value === "last"))
    return { missingFirst: value === "first" };
  throw new EngineProblem(400, `Bad syntax for sorting field \`${field}\``);
}

/** The first `count` hits in order. Hits that are equal by all keys are ordered newest first. */
export function firstHits(
  hits: readonly Hit[],
  keys: readonly SortKey[],
  { fields }: Schema,
  count: number,
): Hit[] {
  const compare = comparer(hits, keys, fields);
  if (count > selectedAtMost) return [...hits].sort(compare).slice(0, count);
  // Few of many hits are shown: the others need no order.
  const best: Hit[] = [];
  for (const hit of hits) {
    const worst = best.at(-1);
    if (best.length >= count && (worst === undefined || compare(hit, worst) > 0)) continue;
    let low = 0;
    let high = best.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = best[middle];
      if (other !== undefined && compare(hit, other) > 0) low = middle + 1;
      else high = middle;
    }
    best.splice(low, 0, hit);
    if (best.length > count) best.pop();
  }
  return best;
}

const selectedAtMost = 500;

type Compare = (a: Hit, b: Hit) => number;

function comparer(
  hits: readonly Hit[],
  keys: readonly SortKey[],
  fields: readonly Field[],
): Compare {
  const comparers = keys.map((key) =>
    key.field === textMatch
      ? compareMatches(hits, key)
      : compareValues(
          key,
          fields.find(({ name }) => name === key.field),
        ),
  );
  return (a, b) => {
    for (const compare of comparers) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return b.stored.number - a.stored.number;
  };
}

function compareValues(
  { field: name, descending, missingFirst }: SortKey,
  field: Field | undefined,
): Compare {
  const sign = descending ? -1 : 1;
  const valueOf = ({ stored }: Hit) => {
    if (field === undefined) return undefined;
    return isStringField(field)
      ? stored.folded.get(name)?.[0]
      : numbersOf(field, stored.document)[0];
  };
  return (a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    if (left === right) return 0;
    if (left === undefined) return missingFirst ? -1 : 1;
    if (right === undefined) return missingFirst ? 1 : -1;
    if (typeof left === "string" && typeof right === "string") return left < right ? -sign : sign;
    return sign * (Number(left) - Number(right));
  };
}

const scoreOf = ({ match }: Hit) => match?.score ?? 0;

function compareMatches(hits: readonly Hit[], key: SortKey): Compare {
  const sign = key.descending ? -1 : 1;
  const { buckets = 0, bucketSize = 0 } = key;
  const size = bucketSize > 0 ? bucketSize : buckets > 0 ? Math.ceil(hits.length / buckets) : 0;
  if (size <= 1) return (a, b) => sign * (scoreOf(a) - scoreOf(b));
  const ranked = [...hits].sort((a, b) => scoreOf(b) - scoreOf(a));
  const bucket = new Map(ranked.map((hit, place) => [hit, -Math.floor(place / size)]));
  return (a, b) => sign * ((bucket.get(a) ?? 0) - (bucket.get(b) ?? 0));
}
