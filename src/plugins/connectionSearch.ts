import { LRUCache } from "lru-cache";
import { OfficeError } from "../errors.ts";
import { QuerySyntaxError } from "../query/QuerySyntaxError.ts";
import type { SearchTable } from "../query/catalogue.ts";
import type { Condition } from "../query/compile.ts";
import { compileQuery } from "../query/compile.ts";
import { parseQuery } from "../query/parse.ts";

/** Turns the text of a search into a condition. @throws OfficeError */
export type Search = (text: string) => Condition;

/** Searches kept ready, by text; those with relative dates are compiled anew each time. */
const keptSearches = { max: 500, maxSize: 200_000 };

/** The search of a table by the query language. */
export function makeSearch(table: SearchTable): Search {
  const kept = new LRUCache<string, Condition>({
    ...keptSearches,
    sizeCalculation: (_condition, text) => text.length + 1,
  });
  return (text) => {
    const known = kept.get(text);
    if (known) return known;
    let usesClock = false;
    const now = new Date();
    const clock = () => {
      usesClock = true;
      return now;
    };
    const condition = refusingAsOffice(() => compileQuery(parseQuery(text), table, clock));
    if (!usesClock) kept.set(text, condition);
    return condition;
  };
}

function refusingAsOffice<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    const { message, position, length } = error;
    // People count from 1, as the message does.
    const details = { path: ["query"], position: position + 1, length };
    throw new OfficeError("BAD_USER_INPUT", message, details);
  }
}
