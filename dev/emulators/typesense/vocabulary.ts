import { countTypos } from "./typos.ts";

/** An indexed word that may match a word of the query. */
export interface Candidate {
  term: string;
  typos: number;
  /** Whether the term is longer than the query's word, so that only its beginning matches. */
  partial: boolean;
}

/** The words of one field, with the number of documents that contain each. */
export class Vocabulary {
  readonly #documents = new Map<string, number>();

  add(terms: ReadonlySet<string>): void {
    for (const term of terms) this.#documents.set(term, (this.#documents.get(term) ?? 0) + 1);
  }

  remove(terms: ReadonlySet<string>): void {
    for (const term of terms) {
      const left = (this.#documents.get(term) ?? 0) - 1;
      if (left > 0) this.#documents.set(term, left);
      else this.#documents.delete(term);
    }
  }

  /**
   * The `limit` most frequent words that differ from `word` by exactly `typos`; the word itself always comes first.
   * With `prefix`, only their beginnings must match.
   */
  candidates(word: string, typos: number, prefix: boolean, limit: number): Candidate[] {
    if (typos === 0 && !prefix)
      return this.#documents.has(word) ? [{ term: word, typos, partial: false }] : [];
    const found: { candidate: Candidate; documents: number }[] = [];
    for (const [term, documents] of this.#documents) {
      const fits =
        typos === 0 ? term.startsWith(word) : countTypos(word, term, typos, prefix) === typos;
      if (!fits) continue;
      const partial = prefix && term.length > word.length && term !== word;
      found.push({ candidate: { term, typos, partial }, documents });
    }
    const rank = ({ candidate, documents }: (typeof found)[number]) =>
      candidate.term === word ? Infinity : documents;
    return found
      .sort((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)))
      .slice(0, limit)
      .map(({ candidate }) => candidate);
  }
}
