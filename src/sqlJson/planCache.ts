import type { DocumentNode, GraphQLSchema } from "graphql";
import type { HideablePlace } from "../graphql/hiddenFields.ts";
import { countLookup } from "../health/cacheCounts.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { type CompiledRead, type Read, prepareRead } from "./compileRead.ts";
import { LazyCache } from "./LazyCache.ts";

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

/** Finds the statement for a query; null where Grafast has to answer. */
export type FindRead = (query: Query) => Promise<ReadStatement | null>;

/**
 * Caches the statements of queries.
 *
 * @param schema returns the served schema
 * @param size the number of entries of each kind
 */
export function makePlanCache(schema: () => GraphQLSchema, size: number): FindRead {
  const queries = new LazyCache<{ read: Read | null }>(size);
  // One statement serves all requests that differ in parameters only. In memory it takes about twice its text.
  const reads = new LazyCache<{ compiled: CompiledRead | null }>(
    size,
    ({ compiled }) => 2 * (compiled?.length ?? 0),
  );
  return async ({ key, document, operationName, given, coerced }) => {
    const { read } = await queries.get(key, () => {
      const asked = document();
      return { read: asked && prepareRead(schema(), asked, operationName) };
    });
    const asked = read?.ask(given, coerced());
    if (!read || !asked) return null;
    countLookup("reads", reads.has(asked.key));
    const { compiled } = await reads.get(asked.key, () => ({ compiled: asked.compile() }));
    if (!compiled) return null;
    const { records, statementFor } = compiled;
    return { read: statementFor(asked.given), records, places: read.places };
  };
}
