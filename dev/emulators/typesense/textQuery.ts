import type { Stored } from "./stored.ts";
import type { Candidate } from "./vocabulary.ts";

/** A field to search, with what its matches are worth. */
export interface SearchedField {
  name: string;
  weight: number;
  /** Most typing errors in a word. */
  typos: number;
  /** Whether the last word may go on. */
  prefix: boolean;
}

/** Words to look for in text fields, and how. */
export interface TextQuery {
  words: readonly string[];
  fields: readonly SearchedField[];
  /** Words of an index that are tried for each word, of every number of errors. */
  maxCandidates: number;
  /** Lengths from which a word may have one error, and two. */
  minLengths: readonly [one: number, two: number];
  /** Errors are only looked for while there are fewer results. */
  typosBelow: number;
  /** Words are only left out while there are fewer results. */
  dropBelow: number;
  dropFrom: "left" | "right" | "both";
  preferExact: boolean;
  accept: (stored: Stored) => boolean;
}

/** For each field, which words of the query each of its words may mean. */
export type Meanings = ReadonlyMap<string, ReadonlyMap<string, readonly Meaning[]>>;

/** A word of an index that a word of the query may mean. */
export interface Meaning extends Candidate {
  /** Place of the word in the query. */
  word: number;
}
