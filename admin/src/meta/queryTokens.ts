/** What a piece of a query text is, for colours and completion. */
export type TokenKind =
  "field" | "colon" | "operator" | "value" | "string" | "word" | "punctuation";

export interface Token {
  kind: TokenKind;
  text: string;
  from: number;
}

const pattern =
  /(?<space>\s+)|(?<string>"(?:[^"\\]|\\.)*"?)|(?<field>[A-Za-z][\w.]*(?=\s*:))|(?<colon>:(?:>=|<=|>|<)?)|(?<operator>\b(?:AND|OR|NOT|IN|TO)\b)|(?<punctuation>[()[\]{},])|(?<word>[^\s"()[\]{},:]+)/y;

/** Splits a query text into coloured pieces. It refuses nothing: the service does. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let isValue = false;
  pattern.lastIndex = 0;
  while (pattern.lastIndex < text.length) {
    const from = pattern.lastIndex;
    const groups = pattern.exec(text)?.groups;
    if (!groups) {
      // A character that begins nothing.
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

/** What is typed at a place of the text. */
export type Place =
  | { kind: "field"; from: number; text: string }
  | { kind: "value"; from: number; text: string; field: string };

/** The name or the value that ends at `position`. */
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

/** A value as a query takes it: quoted where it has spaces or signs. */
export function quoteValue(value: string): string {
  return /^[\p{L}\p{N}_.-]+$/u.test(value) ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The name that the service suggests in "Did you mean …?". */
export function suggestedName(message: string): string | null {
  return /did you mean [`"']?([\w.]+)/i.exec(message)?.[1] ?? null;
}
