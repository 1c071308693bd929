import type { DocumentNode, GraphQLSchema } from "graphql";
import type { Guard } from "../auth/guards.ts";
import type { HideablePlace } from "../graphql/hiddenFields.ts";
import { countLookup } from "../health/cacheCounts.ts";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { type PreparedRead, type CompiledRead, type Read, prepareRead } from "./compileRead.ts";
import { LazyCache } from "./LazyCache.ts";
import { type Roots, rootsOf } from "./roots.ts";

/** A query after @skip and @include were applied. */
export interface Query {
  /** Identifies the query. */
  key: string;
  /** Null where nothing is selected. */
  document: () => DocumentNode | null;
  operationName: string | null | undefined;
  given: Record<string, unknown>;
  /** The coerced variables; null where coercion failed. */
  coerced: () => Record<string, unknown> | null;
}

/** A statement, and whether it records reads. */
export interface ReadStatement {
  read: TextStatement;
  records: boolean;
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
}

/** A statement for some of the root fields of a query. */
export interface PartialRead extends ReadStatement {
  /** Their response keys, in the order of their values. */
  keys: readonly string[];
  /** The query with a placeholder for each of them; the same object for equal queries. */
  rest: DocumentNode;
}

/** The root fields of a query, each prepared alone when first needed. */
interface Several {
  roots: Roots;
  alone: Map<string, Read | null>;
}

/** Finds and caches the statements of queries. */
export interface ReadPlans {
  /** The statement for the whole query; null where Grafast has to answer a part. */
  whole: (query: Query) => Promise<ReadStatement | null>;
  /**
   * The statement for as many root fields as possible except `except`, with marked values; null where there is none. It
   * returns no row if the guard of a required field among the others refuses the caller.
   */
  partOf: (query: Query, except?: ReadonlySet<string>) => Promise<PartialRead | null>;
  /** The root fields of a query with several of them. */
  rootsOf: (query: Query) => Promise<Roots | null>;
  /** The query reduced to some root fields; the same object for equal queries. */
  only: (query: Query, roots: Roots, keys: readonly string[]) => Promise<DocumentNode>;
}

/**
 * @param schema returns the served schema
 * @param size the number of entries of each kind
 */
export function makePlanCache(schema: () => GraphQLSchema, size: number): ReadPlans {
  const queries = new LazyCache<{ read: Read | null }>(size);
  // One statement serves all requests that differ in parameters only. In memory it takes about twice its text.
  const reads = new LazyCache<{ compiled: CompiledRead | null }>(
    size,
    ({ compiled }) => 2 * (compiled?.length ?? 0),
  );
  const several = new LazyCache<{ found: Several | null }>(size);
  const rests = new LazyCache<DocumentNode>(size);

  const find = async (
    query: Query,
    key: string,
    document: Query["document"],
    beside?: readonly Guard[],
  ) => {
    const { operationName, given, coerced } = query;
    const { read } = await queries.get(key, () => {
      const asked = document();
      return { read: asked && prepareRead(schema(), asked, operationName, beside) };
    });
    const asked = read?.ask(given, coerced());
    const found = asked ? await compiledFor(asked) : null;
    return found && { ...found, places: read?.places ?? [] };
  };
  const compiledFor = async (asked: PreparedRead) => {
    countLookup("reads", reads.has(asked.key));
    const { compiled } = await reads.get(asked.key, () => ({ compiled: asked.compile() }));
    return compiled && { read: compiled.statementFor(asked.given), records: compiled.records };
  };
  const severalOf = async ({ key, document, operationName }: Query) => {
    const { found } = await several.get(key, () => {
      const asked = document();
      const roots = asked && rootsOf(schema(), asked, operationName);
      return { found: roots && roots.keys.length > 1 ? { roots, alone: new Map() } : null };
    });
    return found;
  };
  /** A root field resolved as a separate query; null where Grafast has to answer it. */
  const askedAlone = async ({ roots, alone }: Several, key: string, query: Query) => {
    if (!alone.has(key)) {
      await yieldToEventLoop();
      const only = roots.only(new Set([key]));
      alone.set(key, prepareRead(schema(), only, query.operationName));
    }
    return alone.get(key)?.ask(query.given, query.coerced()) ?? null;
  };

  return {
    whole: (query) => find(query, query.key, query.document),
    partOf: async (query, except = new Set()) => {
      const found = await severalOf(query);
      if (!found) return null;
      const asked = new Map<string, PreparedRead>();
      for (const key of found.roots.keys) {
        const one = except.has(key) ? null : await askedAlone(found, key, query);
        if (one) asked.set(key, one);
      }
      const partFor = async (keys: readonly string[]): Promise<PartialRead | null> => {
        if (keys.length === 0) return null;
        const some = new Set(keys);
        const part = `${keys.join(" ")} apart of ${query.key}`;
        const beside = found.roots.requiredBeside(some);
        const read = await find(query, part, () => found.roots.only(some), beside);
        const rest = () => found.roots.without(some);
        return read && { ...read, keys, rest: await rests.get(part, rest) };
      };
      const all = await partFor([...asked.keys()]);
      if (all) return all;
      // A field below one of them is unsupported: find which.
      const keys: string[] = [];
      for (const [key, one] of asked) if (await compiledFor(one)) keys.push(key);
      return keys.length < asked.size ? partFor(keys) : null;
    },
    rootsOf: async (query) => (await severalOf(query))?.roots ?? null,
    only: ({ key }, roots, keys) =>
      rests.get(`${keys.join(" ")} only of ${key}`, () => roots.only(new Set(keys))),
  };
}
