import type { StoredDocument } from "./storedDocument.ts";
import type { TermMatch, TermMatches, TextQuery } from "./textQuery.ts";

/** How well a document matches the words of a query. */
export interface TextMatch {
  /** Larger is better. */
  score: number;
  bestField: { words: number; cost: number; distance: number; exact: boolean };
  bestFieldWeight: number;
  fieldsMatched: number;
  wordsMatched: number;
  wordsDropped: number;
  /** The matched words of the document, each with the number of its first letters that the query names. */
  found: ReadonlyMap<string, number>;
}

interface RankOptions {
  termMatches: TermMatches;
  /** The words of the query that were searched; others were dropped. */
  words: readonly string[];
  query: TextQuery;
}

/** The fields in which each term was found, as MiniSearch reports them. */
type Match = Readonly<Record<string, readonly string[]>>;

/** The part of the ranking that is equal for documents with the same terms in the same fields. */
interface Pattern {
  fields: readonly {
    name: string;
    weight: number;
    /** For each matched word of the query, the matching term with the lowest cost. */
    matches: readonly TermMatch[];
    cost: number;
  }[];
  wordsMatched: number;
  found: ReadonlyMap<string, number>;
}

/**
 * Ranks as Typesense does: by the matched words; by the words, typos, word distance and exactness in the best
 * field; by the weight of that field; and by the number of matched fields.
 */
export function makeRanking(
  options: RankOptions,
): (stored: StoredDocument, match: Match) => TextMatch {
  const { words, query } = options;
  const patterns = new Map<string, Pattern>();
  const queryText = query.words.join(" ");
  return (stored, match) => {
    const signature = JSON.stringify(match);
    let pattern = patterns.get(signature);
    if (pattern === undefined) patterns.set(signature, (pattern = readPattern(match, options)));
    const none = { words: 0, cost: 0, distance: 0, exact: false };
    let best = { score: -1, weight: 0, field: none };
    for (const { name, weight, matches, cost } of pattern.fields) {
      const distance = matches.length > 1 ? wordDistance(stored.words.get(name) ?? [], matches) : 0;
      const exact =
        query.preferExact && cost === 0 && stored.folded.get(name)?.includes(queryText) === true;
      const score = combineScores([
        [matches.length, 16],
        [255 - Math.min(cost, 255), 256],
        [100 - Math.min(distance, 100), 128],
        [exact ? 1 : 0, 2],
      ]);
      if (score > best.score || (score === best.score && weight > best.weight))
        best = { score, weight, field: { words: matches.length, cost, distance, exact } };
    }
    return {
      score: combineScores([
        [pattern.wordsMatched, 16],
        [best.score, 2 ** 20],
        [best.weight, 128],
        [pattern.fields.length, 16],
      ]),
      bestField: best.field,
      bestFieldWeight: best.weight,
      fieldsMatched: pattern.fields.length,
      wordsMatched: pattern.wordsMatched,
      wordsDropped: query.words.length - words.length,
      found: pattern.found,
    };
  };
}

/**
 * The scores as the 64-bit numbers that Typesense shows. `TextMatch.score` has the same order and compares faster.
 */
export function shownScores({ bestField, ...match }: TextMatch): { field: bigint; all: bigint } {
  const { words, cost, distance, exact } = bestField;
  const field = pack([
    [words, 8],
    [words, 8],
    [255 - Math.min(cost, 255), 8],
    [100 - Math.min(distance, 100), 8],
    [exact ? 1 : 0, 8],
    [255, 8],
  ]);
  const all = pack([
    [match.wordsMatched, 4],
    [field, 48],
    [match.bestFieldWeight, 8],
    [match.fieldsMatched, 3],
  ]);
  return { field, all };
}

function pack(parts: readonly (readonly [value: number | bigint, bits: number])[]): bigint {
  return parts.reduce((sum, [value, bits]) => {
    const [number, most] = [BigInt(value), 2n ** BigInt(bits) - 1n];
    return (sum << BigInt(bits)) | (number < most ? number : most);
  }, 0n);
}

function readPattern(match: Match, { termMatches, words, query }: RankOptions): Pattern {
  const found = new Map<string, number>();
  const all = new Set<number>();
  const fields = query.fields.map(({ name, weight }) => {
    const cheapest = new Map<number, TermMatch>();
    for (const [term, places] of Object.entries(match)) {
      if (!places.includes(name)) continue;
      for (const termMatch of termMatches.get(name)?.get(term) ?? []) {
        all.add(termMatch.word);
        const known = cheapest.get(termMatch.word);
        if (known === undefined || costOf(termMatch) < costOf(known))
          cheapest.set(termMatch.word, termMatch);
        // With a typo it is unknown which letters of the term the query names.
        const isPrefixMatch = termMatch.partial && termMatch.typos === 0;
        const matchedLength = isPrefixMatch ? (words[termMatch.word]?.length ?? 0) : term.length;
        found.set(term, Math.max(found.get(term) ?? 0, matchedLength));
      }
    }
    const matches = [...cheapest.values()];
    return { name, weight, matches, cost: matches.reduce((sum, one) => sum + costOf(one), 0) };
  });
  return {
    fields: fields.filter(({ matches }) => matches.length > 0),
    wordsMatched: all.size,
    found,
  };
}

/** A prefix match costs more than an exact match, and less than a typo. */
function costOf({ typos, partial }: TermMatch): number {
  return 2 * typos + (partial ? 1 : 0);
}

/** Combines the parts into one number. A part decides only if all parts before it are equal. */
function combineScores(parts: readonly (readonly [value: number, size: number])[]): number {
  return parts.reduce((sum, [value, size]) => sum * size + Math.min(value, size - 1), 0);
}

/** The number of other words between the terms where they are closest to each other. */
function wordDistance(words: readonly string[], matches: readonly TermMatch[]): number {
  let closest = 100;
  const last = matches.map(() => -1);
  for (const [place, word] of words.entries()) {
    const index = matches.findIndex(({ term }) => term === word);
    if (index === -1) continue;
    last[index] = place;
    const first = Math.min(...last);
    if (first !== -1) closest = Math.min(closest, place - first - (matches.length - 1));
  }
  return Math.max(closest, 0);
}
