import type { DocumentNode, GraphQLSchema } from "graphql";
import { countLookup } from "../operations/cacheCounts.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import { type CompiledRead, type Read, prepareRead } from "./compileRead.ts";
import { Kept } from "./Kept.ts";
import { type Roots, rootsOf } from "./roots.ts";

/** A query that is asked, without anything conditional. */
export interface Query {
  /** Tells it from others. */
  key: string;
  /** Null where nothing is left of it. */
  document: () => DocumentNode | null;
  operationName: string | null | undefined;
  given: Record<string, unknown>;
}

/** A statement that reads, and whether it records what it reads. */
export interface ReadStatement {
  read: TextStatement;
  records: boolean;
}

/** A statement that reads some of a query's root fields. */
export interface PartialRead extends ReadStatement {
  /** The keys of those, in the order of their texts. */
  keys: readonly string[];
  /** The query with a short text in the place of each of them: the same one each time. */
  rest: DocumentNode;
}

/** Finds the statements that read what queries ask for, and keeps those asked for last. */
export interface KeptReads {
  /** For all of a query; null where something of it is left to Grafast. */
  whole: (query: Query) => Promise<ReadStatement | null>;
  /**
   * For as many of a query's several root fields as can be, but those of `except`, with their texts set apart; null where that is
   * none of them.
   */
  partOf: (query: Query, except?: ReadonlySet<string>) => Promise<PartialRead | null>;
  /** Asks which of a query's several root fields refuse the caller: gives their keys as a JSON array. Null where there are not several. */
  refused: (query: Query) => Promise<TextStatement | null>;
}

/** Keeps so many of each kind. `schema` gives the schema that is served. */
export function makeKeptReads(schema: () => GraphQLSchema, size: number): KeptReads {
  const queries = new Kept<{ read: Read | null }>(size);
  // One statement serves all requests that differ in values only. In memory it is about twice as much as its text.
  const reads = new Kept<{ compiled: CompiledRead | null }>(
    size,
    ({ compiled }) => 2 * (compiled?.length ?? 0),
  );
  const roots = new Kept<{ roots: Roots | null }>(size);
  const rests = new Kept<DocumentNode>(size);

  const find = async (query: Query, key: string, document: Query["document"], isApart: boolean) => {
    const { operationName, given } = query;
    const { read } = await queries.get(key, () => {
      const asked = document();
      return { read: asked && prepareRead(schema(), asked, operationName, isApart) };
    });
    const asked = read?.ask(given);
    if (!asked) return null;
    countLookup("reads", reads.has(asked.key));
    const { compiled } = await reads.get(asked.key, () => ({ compiled: asked.compile() }));
    return compiled && { read: compiled.statementFor(asked.given), records: compiled.records };
  };
  /** The root fields of a query, if they are several. */
  const severalOf = async ({ key, document, operationName }: Query) => {
    const found = await roots.get(key, () => {
      const asked = document();
      return { roots: asked && rootsOf(schema(), asked, operationName) };
    });
    return found.roots && found.roots.keys.length > 1 ? found.roots : null;
  };

  return {
    whole: (query) => find(query, query.key, query.document, false),
    partOf: async (query, except = new Set()) => {
      const several = await severalOf(query);
      const found = new Set<string>();
      for (const key of several?.keys ?? []) {
        const only = () => several?.only(new Set([key])) ?? null;
        if (!except.has(key) && (await find(query, `${key} of ${query.key}`, only, false)))
          found.add(key);
      }
      if (!several || found.size === 0) return null;
      const keys = [...found];
      const part = `${keys.join(" ")} apart of ${query.key}`;
      const read = await find(query, part, () => several.only(found), true);
      return read && { ...read, keys, rest: await rests.get(part, () => several.without(found)) };
    },
    refused: async (query) => (await severalOf(query))?.refused ?? null,
  };
}
