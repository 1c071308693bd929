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

/** A statement, and whether it records reads. */
export interface ReadStatement {
  read: TextStatement;
  records: boolean;
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
}

/**
 * Compiles operations and caches them; what runs one is null where Grafast has to.
 *
 * @param schema returns the served schema
 * @param size the number of entries of each kind
 */
export function makePlanCache(schema: () => GraphQLSchema, size: number) {
  const calls = new LazyCache<Call>(size);
  const queries = new LazyCache<Read>(size);
  // One statement serves all requests that differ in parameters only. In memory it takes about twice its text.
  const reads = new LazyCache<CompiledRead>(size, ({ length }) => 2 * length);
  return {
    async read(
      { key, document, operationName }: OperationRequest,
      sent: Record<string, unknown>,
      coerced: Record<string, unknown>,
    ): Promise<ReadStatement | null> {
      const read = await queries.get(key, () => {
        const pruned = document();
        return pruned && prepareRead(schema(), pruned, operationName);
      });
      const prepared = read?.prepare(sent, coerced);
      if (!read || !prepared) return null;
      countLookup("reads", reads.has(prepared.key));
      const compiled = await reads.get(prepared.key, prepared.compile);
      if (!compiled) return null;
      const { records, statementFor } = compiled;
      return { read: statementFor(prepared.given), records, places: read.places };
    },
    async call({ key, document, operationName }: OperationRequest): Promise<Call | null> {
      return calls.get(key, () => {
        const pruned = document();
        return pruned && compileCall(schema(), pruned, operationName);
      });
    },
  };
}

/** A cache of values computed on demand, bounded by number and by total length of keys and values. */
class LazyCache<T extends object> {
  readonly #cache: LRUCache<string, { made: T | null }>;

  /** @param lengthOf the length of a value in characters, without its key */
  constructor(size: number, lengthOf: (made: T) => number = () => 0) {
    this.#cache = new LRUCache({
      max: size,
      maxSize: size * 20_000,
      sizeCalculation: ({ made }, key) => key.length + (made ? lengthOf(made) : 0) + 1,
    });
  }

  has(key: string): boolean {
    return this.#cache.has(key);
  }

  /** Returns the cached value, or yields to the event loop and computes it. */
  async get(key: string, make: () => T | null): Promise<T | null> {
    const known = this.#cache.get(key);
    if (known) return known.made;
    await yieldToEventLoop();
    // Another request may have computed it meanwhile.
    const entry = this.#cache.get(key) ?? { made: make() };
    this.#cache.set(key, entry);
    return entry.made;
  }
}
