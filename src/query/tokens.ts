import type { FieldPath, QueryValue } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";

/** Words that are operators in bare upper case; quoted they are text. */
const KEYWORDS: ReadonlySet<string> = new Set(["AND", "OR", "NOT", "TO", "IN"]);

export function isKeyword(text: string): boolean {
  return KEYWORDS.has(text);
}

/** A parsed text, and whether `*` follows directly. */
export type ParsedText = { value: QueryValue; star: boolean };

const SPACE = /\s/;
const SPACES = /\s*/y;
const ESCAPABLE = /[ -/:-@[-`{-~]/;
const FIELD = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=:)/y;
const KEYWORD = /(?:AND|OR|NOT|TO|IN)(?=[\s()]|$)/y;
const REFUSED = /[[\p{Cc}\p{Cs}]--[\t\n\r]]/v;

/**
 * The first control character (except tab and line breaks) or lone surrogate, named as in `U+0000`; null without one.
 */
export function refusedCharacter(text: string): { name: string; index: number } | null {
  const found = REFUSED.exec(text);
  if (found === null) return null;
  const code = text.charCodeAt(found.index).toString(16).toUpperCase().padStart(4, "0");
  return { name: `U+${code}`, index: found.index };
}

/** Throws for the characters that {@link refusedCharacter} finds. */
export function refuseCharacters(text: string): void {
  const found = refusedCharacter(text);
  if (found) throw new QuerySyntaxError(`the character ${found.name} is not allowed`, found.index);
}

/** Position of the first character at or after `at` that is not white space. */
export function skipSpace(text: string, at: number): number {
  SPACES.lastIndex = at;
  SPACES.test(text);
  return SPACES.lastIndex;
}

/** Whether a bare word ends here: end of text, white space, a parenthesis or one of `stops`. */
export function isBoundary(text: string, at: number, stops = ""): boolean {
  const char = text[at];
  if (char === undefined || char === "(" || char === ")") return true;
  return SPACE.test(char) || stops.includes(char);
}

/** The field name at a position, if a colon follows. */
export function readField(text: string, at: number): FieldPath | null {
  FIELD.lastIndex = at;
  const name = FIELD.exec(text)?.[0];
  if (name === undefined) return null;
  return { path: name.split("."), position: at, end: at + name.length };
}

/** The keyword at a position, if it is a whole word. */
export function readKeyword(text: string, at: number): string | null {
  KEYWORD.lastIndex = at;
  return KEYWORD.exec(text)?.[0] ?? null;
}

/**
 * Parses quoted or bare text. Bare text ends at a boundary (see `isBoundary`) and may be empty. Throws on an unclosed
 * quote, an unknown escape, a `*` within, or a bare bracket or quote.
 */
export function readText(text: string, at: number, stops = ""): ParsedText {
  return text[at] === '"' ? readQuoted(text, at) : readBare(text, at, stops);
}

function readQuoted(text: string, start: number): ParsedText {
  let content = "";
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') {
      const end = at + 1;
      const value = { text: content, quoted: true, position: start, end };
      return { value, star: text[end] === "*" };
    }
    if (char !== "\\") {
      content += char;
      continue;
    }
    at++;
    const escaped = text.charAt(at);
    if (escaped === "") break;
    if (escaped !== '"' && escaped !== "\\") {
      const reason = 'within quotes a backslash stands only before `"` or another backslash';
      throw new QuerySyntaxError(reason, at - 1, 2);
    }
    content += escaped;
  }
  throw new QuerySyntaxError("the quote is never closed", start);
}

function readBare(text: string, start: number, stops: string): ParsedText {
  let content = "";
  let at = start;
  for (; !isBoundary(text, at, stops); at++) {
    const char = text.charAt(at);
    if (char === "*") {
      if (isBoundary(text, at + 1, stops)) break;
      const reason = "`*` stands only at the end of a word (quote the word or write `\\*`)";
      throw new QuerySyntaxError(reason, at);
    }
    if ('"[]{}'.includes(char)) {
      const reason = `${excerpt(char)} is not allowed in a bare word (quote the word or put a backslash before it)`;
      throw new QuerySyntaxError(reason, at);
    }
    if (char !== "\\") {
      content += char;
      continue;
    }
    at++;
    const escaped = text.charAt(at);
    if (!ESCAPABLE.test(escaped)) {
      const reason = "a backslash stands only before a space or an ASCII punctuation mark";
      throw new QuerySyntaxError(reason, at - 1, Math.min(2, text.length - at + 1));
    }
    content += escaped;
  }
  const value = { text: content, quoted: false, position: start, end: at };
  return { value, star: text[at] === "*" };
}
