import type { Circuit } from "../health/externalSystems.ts";

type Scalar = "string" | "int32" | "int64" | "float" | "bool";

/** A field of a collection in the search engine. */
export interface SearchEngineField {
  name: string;
  type: Scalar | `${Scalar}[]`;
  facet: boolean;
  sort: boolean;
  /** An unindexed field is stored and returned only. */
  index: boolean;
}

/** A row's document; `id` is the row's id. */
export type SearchDocument = { id: string } & Record<string, unknown>;

/** A document that the engine rejected, with the reason. */
export interface SearchRefusal {
  id: string;
  message: string;
}

/** A collection to search. */
export interface CollectionQuery {
  collection: string;
  /** The fields to search. */
  queryBy: readonly string[];
}

/** The result of one search: the number of matches and the best ones. */
export interface SearchResult {
  total: number;
  documents: readonly SearchDocument[];
}

/** A search-only key of the engine, without its value. */
export interface SearchEngineKey {
  id: string;
  description: string;
}

/**
 * The search engine. Each call is bounded in time and repeatable.
 * @throws SearchEngineError when the engine did not respond, SearchEngineCircuitOpenError when the circuit is open,
 *   SearchRefusedError when it rejected the request
 */
export interface SearchEngine {
  collections(): Promise<string[]>;
  /** Creates a collection; an existing one is not changed. */
  makeCollection(name: string, fields: readonly SearchEngineField[]): Promise<void>;
  /** Drops a collection if it exists. */
  dropCollection(name: string): Promise<void>;
  /** The number of documents; null when the collection does not exist. */
  count(name: string): Promise<number | null>;
  /** The collection behind an alias; null when the alias does not exist. */
  aliased(alias: string): Promise<string | null>;
  setAlias(alias: string, collection: string): Promise<void>;
  dropAlias(alias: string): Promise<void>;
  /** Inserts or replaces documents; returns those that the engine rejected. */
  put(collection: string, documents: readonly SearchDocument[]): Promise<SearchRefusal[]>;
  /** Deletes the documents with these ids; missing ones are ignored. */
  remove(collection: string, ids: readonly string[]): Promise<void>;
  /** Returns the existing documents among these ids, by id. */
  present(collection: string, ids: readonly string[]): Promise<Map<string, SearchDocument>>;
  /** Iterates over all documents of a collection, in any order. */
  documents(collection: string): AsyncIterable<SearchDocument>;
  /** Creates a key with this value that can only search these collections. Returns its id, also when it exists. */
  makeKey(key: {
    value: string;
    description: string;
    collections: readonly string[];
  }): Promise<string>;
  /**
   * Searches each collection with a scoped key and returns up to `first` documents per collection, in the same order.
   */
  find(
    key: string,
    words: string,
    wishes: readonly CollectionQuery[],
    first: number,
  ): Promise<SearchResult[]>;
  keys(): Promise<SearchEngineKey[]>;
  dropKey(id: string): Promise<void>;
  /** Checks the engine's health with one request, bypassing the circuit breaker. */
  check(): Promise<undefined>;
  /** The version of one node, such as `29.0`. */
  version(): Promise<string>;
  circuit(): Circuit;
  close(): void;
}

/** The engine did not respond. The message is for staff. */
export class SearchEngineError extends Error {
  override name = "SearchEngineError";
}

/** The circuit is open after repeated failures; no request was sent. */
export class SearchEngineCircuitOpenError extends SearchEngineError {
  override name = "SearchEngineCircuitOpenError";
}

/** The engine rejected the request. The message is for staff. */
export class SearchRefusedError extends Error {
  override name = "SearchRefusedError";
  /** The HTTP status of the response, such as 404. */
  readonly status: number;

  constructor(message: string, status: number, cause: unknown) {
    super(message, { cause });
    this.status = status;
  }
}
