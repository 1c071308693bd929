import type { DocumentNode, GraphQLSchema } from "graphql";
import { LRUCache } from "lru-cache";
import type { HideablePlace } from "../graphql/hiddenFields.ts";
import { countLookup } from "../health/cacheCounts.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";
import { type Call, compileCall } from "./compileCall.ts";
import { type CompiledRead, type Read, prepareRead } from "./compileRead.ts";

/** An operation after @skip and @include were applied. */
export interface OperationRequest {
  /** Identifies it. */
  key: string;
  /** Null where nothing is selected. */
  document: () => DocumentNode | null;
  operationName: string | null | undefined;
}

/** The variables of a query. */
export interface Variables {
  given: Record<string, unknown>;
  /** Coerced; null where coercion failed. */
  coerced: Record<string, unknown> | null;
}

/** A statement, and whether it records reads. */
export interface ReadStatement {
  read: TextStatement;
  records: boolean;
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
}

/** Finds what runs an operation; null where Grafast has to. */
export interface PlanCache {
  read: (query: OperationRequest, variables: Variables) => Promise<ReadStatement | null>;
  call: (mutation: OperationRequest) => Promise<Call | null>;
}

/**
 * Caches compiled operations.
 *
 * @param schema returns the served schema
 * @param size the number of entries of each kind
 */
export function makePlanCache(schema: () => GraphQLSchema, size: number): PlanCache {
  const calls = new LazyCache<{ call: Call | null }>(size);
  const queries = new LazyCache<{ read: Read | null }>(size);
  // One statement serves all requests that differ in parameters only. In memory it takes about twice its text.
  const reads = new LazyCache<{ compiled: CompiledRead | null }>(
    size,
    ({ compiled }) => 2 * (compiled?.length ?? 0),
  );
  return {
    async read({ key, document, operationName }, { given, coerced }) {
      const { read } = await queries.get(key, () => {
        const pruned = document();
        return { read: pruned && prepareRead(schema(), pruned, operationName) };
      });
      const prepared = read?.prepare(given, coerced);
      if (!read || !prepared) return null;
      countLookup("reads", reads.has(prepared.key));
      const { compiled } = await reads.get(prepared.key, () => ({ compiled: prepared.compile() }));
      if (!compiled) return null;
      const { records, statementFor } = compiled;
      return { read: statementFor(prepared.given), records, places: read.places };
    },
    async call({ key, document, operationName }) {
      const { call } = await calls.get(key, () => {
        const pruned = document();
        return { call: pruned && compileCall(schema(), pruned, operationName) };
      });
      return call;
    },
  };
}

/** A cache of values computed on demand, bounded by number and by total length of keys and values. */
class LazyCache<T extends object> {
  readonly #cache: LRUCache<string, T>;

  /** @param lengthOf the length of a value in characters, without its key */
  constructor(size: number, lengthOf: (made: T) => number = () => 0) {
    this.#cache = new LRUCache({
      max: size,
      maxSize: size * 20_000,
      sizeCalculation: (made, key) => key.length + lengthOf(made) + 1,
    });
  }

  has(key: string): boolean {
    return this.#cache.has(key);
  }

  /** Returns the cached value, or yields to the event loop and computes it. */
  async get(key: string, make: () => T): Promise<T> {
    const known = this.#cache.get(key);
    if (known) return known;
    await yieldToEventLoop();
    // Another request may have computed it meanwhile.
    let made = this.#cache.get(key);
    if (!made) this.#cache.set(key, (made = make()));
    return made;
  }
}
