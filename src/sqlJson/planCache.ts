import type { DocumentNode, GraphQLSchema } from "graphql";
import type { Guard } from "../auth/guards.ts";
import type { HideablePlace } from "../graphql/hiddenFields.ts";
import { countLookup } from "../health/cacheCounts.ts";
import { yieldToEventLoop } from "../process/yieldToEventLoop.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { type AskedRead, type CompiledRead, type Read, prepareRead } from "./compileRead.ts";
import { LazyCache } from "./LazyCache.ts";
import { type Roots, rootsOf } from "./roots.ts";

/** A query that is asked, without anything conditional. */
export interface Query {
  /** Tells it from others. */
  key: string;
  /** Null where nothing is left of it. */
  document: () => DocumentNode | null;
  operationName: string | null | undefined;
  given: Record<string, unknown>;
  /** The same as they are coerced; null where they are refused. */
  coerced: () => Record<string, unknown> | null;
}

/** A statement that reads, and whether it records what it reads. */
export interface ReadStatement {
  read: TextStatement;
  records: boolean;
  /** Where the answer may hide something. */
  places: readonly HideablePlace[];
}

/** A statement that reads some of a query's root fields. */
export interface PartialRead extends ReadStatement {
  /** The keys of those, in the order of their texts. */
  keys: readonly string[];
  /** The query with a short text in the place of each of them: the same one each time. */
  rest: DocumentNode;
}

/** The root fields of a query, and each of them prepared by itself once it was asked for. */
interface Several {
  roots: Roots;
  alone: Map<string, Read | null>;
}

/** Finds the statements that read what queries ask for, and keeps those asked for last. */
export interface ReadPlans {
  /** For all of a query; null where something of it is left to Grafast. */
  whole: (query: Query) => Promise<ReadStatement | null>;
  /**
   * For as many of a query's several root fields as can be, but those of `except`, with their texts set apart; null where that is
   * none of them. To callers for whom the guard of one of the others leaves no answer it gives none, either.
   */
  partOf: (query: Query, except?: ReadonlySet<string>) => Promise<PartialRead | null>;
  /** The root fields of a query, where they are several. */
  rootsOf: (query: Query) => Promise<Roots | null>;
  /** The query for some of its several root fields: the same one each time. */
  only: (query: Query, roots: Roots, keys: readonly string[]) => Promise<DocumentNode>;
}

/** Keeps so many of each kind. `schema` gives the schema that is served. */
export function makePlanCache(schema: () => GraphQLSchema, size: number): ReadPlans {
  const queries = new LazyCache<{ read: Read | null }>(size);
  // One statement serves all requests that differ in values only. In memory it is about twice as much as its text.
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
  const compiledFor = async (asked: AskedRead) => {
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
  /** A root field as it is asked for by itself; null where it is left to Grafast. */
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
      const asked = new Map<string, AskedRead>();
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
      // What stands below one of them is left to Grafast.
      const keys: string[] = [];
      for (const [key, one] of asked) if (await compiledFor(one)) keys.push(key);
      return keys.length < asked.size ? partFor(keys) : null;
    },
    rootsOf: async (query) => (await severalOf(query))?.roots ?? null,
    only: ({ key }, roots, keys) =>
      rests.get(`${keys.join(" ")} only of ${key}`, () => roots.only(new Set(keys))),
  };
}
