import type { Circuit } from "../health/externalSystems.ts";

type Scalar = "string" | "int32" | "int64" | "float" | "bool";

/** A field of a collection, as the engine knows it. */
export interface SearchEngineField {
  name: string;
  type: Scalar | `${Scalar}[]`;
  facet: boolean;
  sort: boolean;
  /** Without it the field is kept and shown, and nothing more. */
  index: boolean;
}

/** What the engine holds of one row; `id` is the row's. */
export type SearchDocument = { id: string } & Record<string, unknown>;

/** A document that the engine would not take, and why. */
export interface SearchRefusal {
  id: string;
  message: string;
}

/** What a search is to look through. */
export interface SearchWish {
  collection: string;
  /** The fields in which words are looked for. */
  queryBy: readonly string[];
}

/** What one search found: how many documents there are, and the best of them. */
export interface SearchFinding {
  total: number;
  documents: readonly SearchDocument[];
}

/** A key to the engine that can only search, without its value. */
export interface SearchEngineKey {
  id: string;
  description: string;
}

/**
 * The search engine. Each call is bounded in time and can be repeated.
 * @throws SearchEngineError when it did not answer and may later, SearchEngineRestingError when it was not even asked,
 *   SearchRefusedError when it will not do what it was asked
 */
export interface SearchEngine {
  collections(): Promise<string[]>;
  /** Makes a collection; one that is there already stays as it is. */
  makeCollection(name: string, fields: readonly SearchEngineField[]): Promise<void>;
  /** Removes a collection, if it is there. */
  dropCollection(name: string): Promise<void>;
  /** How many documents a collection has; null where there is no such collection. */
  count(name: string): Promise<number | null>;
  /** The collection that an alias leads to; null where there is no such alias. */
  aliased(alias: string): Promise<string | null>;
  setAlias(alias: string, collection: string): Promise<void>;
  dropAlias(alias: string): Promise<void>;
  /** Adds documents or puts them in the place of those with their ids; returns those that were not taken. */
  put(collection: string, documents: readonly SearchDocument[]): Promise<SearchRefusal[]>;
  /** Removes the documents with these ids, as far as they are there. */
  remove(collection: string, ids: readonly string[]): Promise<void>;
  /** Those of the documents with these ids that are there, by their ids. */
  present(collection: string, ids: readonly string[]): Promise<Map<string, SearchDocument>>;
  /** All documents of a collection, in any order. */
  documents(collection: string): AsyncIterable<SearchDocument>;
  /** Makes the key of this value, which can search these collections and nothing else; returns its id, also if it is there. */
  makeKey(key: {
    value: string;
    description: string;
    collections: readonly string[];
  }): Promise<string>;
  /** Looks for words in each of these collections with a key of a front end's, `first` documents of each; in their order. */
  find(
    key: string,
    words: string,
    wishes: readonly SearchWish[],
    first: number,
  ): Promise<SearchFinding[]>;
  keys(): Promise<SearchEngineKey[]>;
  dropKey(id: string): Promise<void>;
  /** Asks whether the engine is well, once and past the circuit breaker. */
  check(): Promise<undefined>;
  /** The version that a node of the engine names, such as `29.0`. */
  version(): Promise<string>;
  circuit(): Circuit;
  close(): void;
}

/** The engine did not answer this time. The message is for staff to read. */
export class SearchEngineError extends Error {
  override name = "SearchEngineError";
}

/** The engine has failed so often in a row that it is not asked for a while. */
export class SearchEngineRestingError extends SearchEngineError {
  override name = "SearchEngineRestingError";
}

/** The engine refused. The message is for staff to read. */
export class SearchRefusedError extends Error {
  override name = "SearchRefusedError";
  /** The HTTP status of its answer, such as 404. */
  readonly status: number;

  constructor(message: string, status: number, cause: unknown) {
    super(message, { cause });
    this.status = status;
  }
}
