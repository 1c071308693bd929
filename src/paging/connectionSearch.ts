import { LRUCache } from "lru-cache";
import { badUserInput } from "../errors/PublicError.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";
import type { SearchTable } from "../query/catalogue.ts";
import type { Condition } from "../query/compile.ts";
import { compileQuery } from "../query/compile.ts";
import { parseBoundQuery } from "../query/boundValues.ts";
import { type SearchKind, searchKind } from "../query/searchKind.ts";

/** A compiled search. */
export interface AskedSearch {
  table: SearchTable;
  kind: SearchKind;
  matches: Condition;
  /** Whether it depends on the moment at which it was compiled, as `today` does. */
  isRelative: boolean;
}

/** Compiles the text of a search with the values of its `$name`s. @throws PublicError */
export type Search = (text: string, values: unknown) => AskedSearch;

/** Limits of the cache of compiled searches. Searches with relative dates or bound values are compiled per request. */
const keptSearches = { max: 500, maxSize: 200_000 };

const searches = new WeakMap<SearchTable, Search>();

/** The search of a table by the query language; every caller shares its cache. */
export function searchOf(table: SearchTable): Search {
  const search = searches.get(table) ?? makeSearch(table);
  searches.set(table, search);
  return search;
}

function makeSearch(table: SearchTable): Search {
  const kept = new LRUCache<string, AskedSearch>({
    ...keptSearches,
    sizeCalculation: (_search, text) => text.length + 1,
  });
  return (text, values) => {
    const isKept = values == null;
    const known = isKept ? kept.get(text) : undefined;
    if (known) return known;
    let usesClock = false;
    const now = new Date();
    const clock = () => {
      usesClock = true;
      return now;
    };
    const search = refusingAsOffice((): AskedSearch => {
      const node = parseBoundQuery(text, values);
      const matches = compileQuery(node, table, clock);
      return { table, kind: searchKind(node, table), matches, isRelative: usesClock };
    });
    if (isKept && !usesClock) kept.set(text, search);
    return search;
  };
}

function refusingAsOffice<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    const { message, position, length } = error;
    // Counted from 1, as in the message.
    const details = { path: ["query"], position: position + 1, length };
    throw badUserInput(message, details);
  }
}
