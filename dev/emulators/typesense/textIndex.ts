import MiniSearch from "minisearch";
import type { Query } from "minisearch";
import type { TextMatch } from "./ranking.ts";
import { makeRanking } from "./ranking.ts";
import type { StoredDocument } from "./storedDocument.ts";
import type { TermMatch, TermMatches, TextQuery } from "./textQuery.ts";
import { Vocabulary } from "./vocabulary.ts";

const maxTypos = 2;

/** Finds documents by the words of their text fields. */
export class TextIndex {
  readonly #vocabularies: ReadonlyMap<string, Vocabulary>;
  readonly #index: MiniSearch<StoredDocument>;
  /** The document that MiniSearch is adding or removing. */
  #current: StoredDocument | null = null;

  constructor(fields: readonly string[]) {
    this.#vocabularies = new Map(fields.map((field) => [field, new Vocabulary()]));
    this.#index = new MiniSearch<StoredDocument>({
      fields: [...fields],
      idField: "number",
      extractField: (stored, field): string =>
        field === "number" ? String(stored.number) : (stored.folded.get(field)?.join(" ") ?? ""),
      // The words of a document are known, and each term of a query is one word.
      tokenize: (text, field) =>
        field === undefined ? [text] : [...(this.#current?.words.get(field) ?? [])],
      processTerm: (term) => term,
    });
  }

  add(stored: StoredDocument): void {
    this.#current = stored;
    this.#index.add(stored);
    for (const [field, vocabulary] of this.#vocabularies)
      vocabulary.add(new Set(stored.words.get(field)));
  }

  /** @param stored the document exactly as it was added */
  remove(stored: StoredDocument): void {
    this.#current = stored;
    this.#index.remove(stored);
    for (const [field, vocabulary] of this.#vocabularies)
      vocabulary.remove(new Set(stored.words.get(field)));
  }

  /**
   * Finds the documents that contain all words, in any of the fields. While there are too few of them, it allows
   * typos, and then drops words.
   */
  find(
    query: TextQuery,
    byNumber: ReadonlyMap<number, StoredDocument>,
  ): Map<StoredDocument, TextMatch> {
    const found = new Map<StoredDocument, TextMatch>();
    for (const words of wordSubsets(query)) {
      for (let typos = 0; typos <= maxTypos; typos++) {
        // Typos are searched only while there are too few documents.
        if (typos > 0 && found.size >= query.typosBelow) break;
        this.#collect(query, words, typos, byNumber, found);
      }
      if (found.size >= query.dropBelow) break;
    }
    return found;
  }

  #collect(
    query: TextQuery,
    words: readonly string[],
    typos: number,
    byNumber: ReadonlyMap<number, StoredDocument>,
    found: Map<StoredDocument, TextMatch>,
  ): void {
    const termMatches = this.#matchTerms(query, words, typos);
    const combined = toLibraryQuery(words, termMatches);
    if (combined === null) return;
    const rank = makeRanking({ termMatches, words, query });
    for (const { id, match } of this.#index.search(combined)) {
      const stored = byNumber.get(Number(id));
      if (stored === undefined || found.has(stored) || !query.accept(stored)) continue;
      found.set(stored, rank(stored, match));
    }
  }

  #matchTerms(
    { fields, ...query }: TextQuery,
    words: readonly string[],
    level: number,
  ): TermMatches {
    const termMatches = new Map<string, Map<string, TermMatch[]>>();
    for (const { name, typos: allowed, prefix } of fields) {
      const vocabulary = this.#vocabularies.get(name);
      const terms = new Map<string, TermMatch[]>();
      termMatches.set(name, terms);
      for (const [place, word] of words.entries()) {
        const isPrefix = prefix && place === words.length - 1;
        const [one, two] = query.minLengths;
        const byLength = word.length >= two ? 2 : word.length >= one ? 1 : 0;
        for (let typos = 0; typos <= Math.min(level, allowed, byLength); typos++) {
          const candidates =
            vocabulary?.candidates(word, typos, isPrefix, query.maxCandidates) ?? [];
          for (const candidate of candidates) {
            const termMatch = { ...candidate, word: place };
            const known = terms.get(candidate.term);
            if (known === undefined) terms.set(candidate.term, [termMatch]);
            else known.push(termMatch);
          }
        }
      }
    }
    return termMatches;
  }
}

/** All words, then the remaining ones as one after another is dropped. */
function* wordSubsets({ words, dropFrom }: TextQuery): Generator<readonly string[]> {
  yield words;
  for (let left = words.length - 1; left > 0; left--) {
    if (dropFrom !== "left") yield words.slice(0, left);
    if (dropFrom !== "right") yield words.slice(words.length - left);
  }
}

/** Requires one of the matching terms for every word. Null when a word has none. */
function toLibraryQuery(words: readonly string[], termMatches: TermMatches): Query | null {
  const fieldsOf = new Map<string, string[]>();
  const termsOfWord = words.map(() => new Set<string>());
  for (const [field, terms] of termMatches) {
    for (const [term, matches] of terms) {
      // MiniSearch keeps one list of fields per term, so all queries for a term share it.
      const fields = fieldsOf.get(term);
      if (fields === undefined) fieldsOf.set(term, [field]);
      else fields.push(field);
      for (const { word } of matches) termsOfWord[word]?.add(term);
    }
  }
  if (words.length === 0 || termsOfWord.some(({ size }) => size === 0)) return null;
  return {
    combineWith: "AND",
    queries: termsOfWord.map((terms) => ({
      combineWith: "OR",
      queries: [...terms].map((term) => ({ queries: [term], fields: fieldsOf.get(term) ?? [] })),
    })),
  };
}
