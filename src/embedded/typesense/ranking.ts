import type { Stored } from "./stored.ts";
import type { Meaning, Meanings, TextQuery } from "./textIndex.ts";

/** How well a document fits the words of a query. */
export interface TextMatch {
  /** Larger is better; 0 where no words were asked for. */
  score: number;
  bestFieldScore: number;
  bestFieldWeight: number;
  fieldsMatched: number;
  wordsMatched: number;
  wordsDropped: number;
  costOfTypos: number;
  /** The document's words that were found, with how many of their first letters the query named. */
  found: ReadonlyMap<string, number>;
}

interface RankOptions {
  stored: Stored;
  /** The fields in which each term was found. */
  match: Readonly<Record<string, readonly string[]>>;
  meanings: Meanings;
  words: readonly string[];
  dropped: number;
  query: TextQuery;
}

/**
 * Ranks as Typesense does: the words found in the best field, then the fewer typing errors, then how near they stand to each other,
 * then whether they are the whole text; among equals the field's weight, then in how many fields.
 */
export function rankMatch(options: RankOptions): TextMatch {
  const { stored, match, meanings, words, dropped, query } = options;
  const found = new Map<string, number>();
  const all = new Set<number>();
  let best = { score: -1, weight: 0, cost: 0 };
  let fieldsMatched = 0;
  for (const field of query.fields) {
    const cheapest = new Map<number, Meaning>();
    for (const [term, fields] of Object.entries(match)) {
      if (!fields.includes(field.name)) continue;
      for (const meaning of meanings.get(field.name)?.get(term) ?? []) {
        all.add(meaning.word);
        const known = cheapest.get(meaning.word);
        if (known === undefined || costOf(meaning) < costOf(known))
          cheapest.set(meaning.word, meaning);
        const named = meaning.partial ? (words[meaning.word]?.length ?? 0) : term.length;
        found.set(term, Math.max(found.get(term) ?? 0, named));
      }
    }
    if (cheapest.size === 0) continue;
    fieldsMatched++;
    const meant = [...cheapest.values()];
    const cost = meant.reduce((sum, meaning) => sum + costOf(meaning), 0);
    const texts = stored.folded.get(field.name) ?? [];
    const distance = meant.length > 1 ? spread(texts, meant) : 0;
    const exact = query.preferExact && cost === 0 && texts.includes(query.words.join(" "));
    const score = weigh([
      [cheapest.size, 16],
      [255 - Math.min(cost, 255), 256],
      [100 - Math.min(distance, 100), 128],
      [exact ? 1 : 0, 2],
    ]);
    if (score > best.score || (score === best.score && field.weight > best.weight))
      best = { score, weight: field.weight, cost };
  }
  return {
    score: weigh([
      [all.size, 16],
      [best.score, 2 ** 20],
      [best.weight, 128],
      [fieldsMatched, 16],
    ]),
    bestFieldScore: best.score,
    bestFieldWeight: best.weight,
    fieldsMatched,
    wordsMatched: all.size,
    wordsDropped: dropped,
    costOfTypos: best.cost,
    found,
  };
}

/** A word that merely begins as asked is worth a little less than the word itself, and more than one with an error. */
function costOf({ typos, partial }: Meaning): number {
  return 2 * typos + (partial ? 1 : 0);
}

/** One number in which each part counts only among equals of those before it. */
function weigh(parts: readonly (readonly [value: number, size: number])[]): number {
  return parts.reduce((sum, [value, size]) => sum * size + Math.min(value, size - 1), 0);
}

/** How many words lie between the first and the last of the closest places where the terms stand together. */
function spread(texts: readonly string[], meant: readonly Meaning[]): number {
  const wanted = new Map(meant.map(({ term, word }) => [term, word]));
  let closest = 100;
  for (const text of texts) {
    const last = new Map<number, number>();
    for (const [place, term] of text.split(" ").entries()) {
      const word = wanted.get(term);
      if (word === undefined) continue;
      last.set(word, place);
      if (last.size < meant.length) continue;
      const gap = place - Math.min(...last.values()) - (meant.length - 1);
      closest = Math.min(closest, Math.max(gap, 0));
    }
  }
  return closest;
}
