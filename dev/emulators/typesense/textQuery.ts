import type { StoredDocument } from "./storedDocument.ts";
import type { Candidate } from "./vocabulary.ts";

/** A field to search, and the weight of its matches. */
export interface SearchedField {
  name: string;
  weight: number;
  /** Maximum number of typos in a word. */
  typos: number;
  /** Whether the last word is a prefix. */
  prefix: boolean;
}

/** Words to search in text fields, and the options of the search. */
export interface TextQuery {
  words: readonly string[];
  fields: readonly SearchedField[];
  /** Maximum number of indexed words to try for each word and each number of typos. */
  maxCandidates: number;
  /** Minimum lengths of a word with one typo and with two. */
  minLengths: readonly [one: number, two: number];
  /** Typos are allowed only while there are fewer results. */
  typosBelow: number;
  /** Words are dropped only while there are fewer results. */
  dropBelow: number;
  dropFrom: "left" | "right" | "both";
  preferExact: boolean;
  accept: (stored: StoredDocument) => boolean;
}

/** By field: the words of the query that each indexed word matches. */
export type TermMatches = ReadonlyMap<string, ReadonlyMap<string, readonly TermMatch[]>>;

/** An indexed word that matches a word of the query. */
export interface TermMatch extends Candidate {
  /** Index of the word in the query. */
  word: number;
}
