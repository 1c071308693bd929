/** The kind of a token in a query, for highlighting and completion. */
export type TokenKind =
  "field" | "colon" | "operator" | "value" | "string" | "word" | "punctuation";

export interface Token {
  kind: TokenKind;
  text: string;
  from: number;
}

const pattern =
  /(?<space>\s+)|(?<string>"(?:[^"\\]|\\.)*"?)|(?<field>[A-Za-z][\w.]*(?=\s*:))|(?<colon>:(?:>=|<=|>|<)?)|(?<operator>\b(?:AND|OR|NOT|IN|TO)\b)|(?<punctuation>[()[\]{},])|(?<word>[^\s"()[\]{},:]+)/y;

/** Splits a query into tokens. Accepts every text, since the service reports syntax errors. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let isValue = false;
  pattern.lastIndex = 0;
  while (pattern.lastIndex < text.length) {
    const from = pattern.lastIndex;
    const groups = pattern.exec(text)?.groups;
    if (!groups) {
      // A character that starts no token.
      tokens.push({ kind: "word", text: text.charAt(from), from });
      pattern.lastIndex = from + 1;
      continue;
    }
    const [name = "word", piece = ""] =
      Object.entries(groups).find(([, value]) => value !== undefined) ?? [];
    if (name === "space") {
      isValue = false;
      continue;
    }
    const kind = name === "word" && isValue ? "value" : (name as TokenKind);
    isValue = name === "colon";
    tokens.push({ kind, text: piece, from });
  }
  return tokens;
}

/** The name or value at the cursor. */
export type Place =
  | { kind: "field"; from: number; text: string }
  | { kind: "value"; from: number; text: string; field: string };

/** Finds the name or value that ends at `position`. */
export function placeAt(text: string, position: number): Place | null {
  const before = text.slice(0, position);
  const value = /([A-Za-z][\w.]*)\s*:(?:>=|<=|>|<)?("?)([^\s"()[\]{},:]*)$/.exec(before);
  if (value) {
    const [, field = "", quote = "", typed = ""] = value;
    return { kind: "value", field, text: typed, from: position - typed.length - quote.length };
  }
  const word = /(?:^|[\s(-])([A-Za-z][\w.]*)?$/.exec(before);
  if (!word) return null;
  const typed = word[1] ?? "";
  return { kind: "field", text: typed, from: position - typed.length };
}

/** Words that have a meaning in a query. */
const keywords = /^(?:and|or|not|in|to|now|today|yesterday|tomorrow)$/i;

/** Writes a value for a query, quoted if it contains spaces or special characters or is a keyword. */
export function quoteValue(value: string): string {
  const isPlain = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(value) && !keywords.test(value);
  return isPlain ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The name in the service's hint "Did you mean …?". */
export function suggestedName(message: string): string | null {
  return /did you mean [`"']?([\w.]+)/i.exec(message)?.[1] ?? null;
}
