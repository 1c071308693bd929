import type { Accept } from "./filterClause.ts";
import type { StoredDocument } from "./storedDocument.ts";
import type { Tokeniser } from "./tokens.ts";

/** The parsed parameter `q`. */
export interface QueryText {
  words: readonly string[];
  /** Whether a document has all quoted phrases, and none of the excluded words. */
  accept: Accept;
}

/**
 * Parses `q`: words, `"a phrase"`, `-without` and `-"without a phrase"`. An empty text and `*` match every
 * document.
 */
export function parseQuery(
  text: string,
  fields: readonly string[],
  tokeniser: Tokeniser,
): QueryText {
  if (text.trim() === "*") return { words: [], accept: () => true };
  const words: string[] = [];
  const tests: Accept[] = [];
  for (const match of text.matchAll(/(-?)"([^"]*)"|(\S+)/gu)) {
    const [, minus, phrase, word = ""] = match;
    const excludes = minus === "-" || (phrase === undefined && /^-./.test(word));
    const folded = tokeniser.folded(phrase ?? (excludes ? word.slice(1) : word));
    if (folded === "") continue;
    if (excludes) tests.push((stored) => !containsPhrase(stored, fields, folded));
    else if (phrase !== undefined) tests.push((stored) => containsPhrase(stored, fields, folded));
    else words.push(...folded.split(" "));
  }
  return { words, accept: (stored) => tests.every((test) => test(stored)) };
}

function containsPhrase(
  { folded }: StoredDocument,
  fields: readonly string[],
  phrase: string,
): boolean {
  return fields.some((field) =>
    (folded.get(field) ?? []).some((text) => ` ${text} `.includes(` ${phrase} `)),
  );
}
