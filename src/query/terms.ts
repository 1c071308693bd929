import type { FieldPath, QueryValue, RangeTerm, TermNode, WordNode } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";
import type { QueryLimits } from "./limits.ts";
import { isBoundary, isKeyword, readText, skipSpace } from "./tokens.ts";

const COMPARISONS = [
  [">=", "gte"],
  ["<=", "lte"],
  [">", "gt"],
  ["<", "lt"],
] as const;

/** Parses a bare word or phrase. Throws where it looks like a malformed field or comparison. */
export function readWord(text: string, at: number): WordNode {
  const { value, star } = readText(text, at, ":<>=");
  const { text: word, quoted: phrase, end } = value;
  const next = text.charAt(end);
  if (next === ":") {
    const reason =
      end === at
        ? "the field name before `:` is missing"
        : `${excerpt(text.slice(at, end))} is not a field name (quote the text to search for it)`;
    throw new QuerySyntaxError(reason, at, Math.max(1, end - at));
  }
  if (!phrase && "<>=".includes(next) && next !== "") {
    const reason = `${excerpt(next)} stands only after a field and a colon, as in \`points:>=90\` (or quote the text)`;
    throw new QuerySyntaxError(reason, end);
  }
  if (!phrase && star && word === "") throw new QuerySyntaxError("`*` has no word before it", at);
  if (phrase && word.trim() === "") {
    throw new QuerySyntaxError("the phrase is empty", at, end - at);
  }
  return {
    kind: "word",
    text: word,
    phrase,
    prefix: star,
    position: at,
    end: star ? end + 1 : end,
  };
}

/**
 * Parses what follows `field:`, except a group. `position` is the start of the term. Throws when the value is missing
 * or does not suit the operator.
 */
export function readTerm(
  text: string,
  field: FieldPath,
  at: number,
  position: number,
  limits: QueryLimits,
): TermNode {
  const base = { kind: "term", field, position } as const;
  const char = text.charAt(at);
  if (char === "[" || char === "{") return { ...base, ...readRange(text, at) };
  if (text.startsWith("IN(", at)) {
    return { ...base, operator: "in", ...readList(text, at, limits.maxListValues) };
  }
  if (char === "=") {
    const reason = "`=` is not an operator (equality is written `field:value`)";
    throw new QuerySyntaxError(reason, at);
  }
  for (const [sign, operator] of COMPARISONS) {
    if (!text.startsWith(sign, at)) continue;
    const value = readPlain(text, at + sign.length, "", () => {
      throw new QuerySyntaxError(`${excerpt(sign)} has no value after it`, at, sign.length);
    });
    return { ...base, operator, values: [value], end: value.end };
  }
  const { value, star } = readText(text, at);
  if (star && !value.quoted && value.text === "") {
    return { ...base, operator: "exists", values: [], end: at + 1 };
  }
  if (value.end === at) {
    const reason = `${excerpt(text.slice(field.position, field.end + 1))} has no value directly after it`;
    throw new QuerySyntaxError(reason, field.position, field.end + 1 - field.position);
  }
  if (!star) {
    refuseKeyword(value);
    return { ...base, operator: "eq", values: [value], end: value.end };
  }
  if (value.text.trim() === "") {
    // An empty prefix would match everything.
    throw new QuerySyntaxError("`*` has no text before it", at, value.end + 1 - at);
  }
  return { ...base, operator: "prefix", values: [value], end: value.end + 1 };
}

function readList(text: string, start: number, maxValues: number) {
  const open = start + 2;
  const values: QueryValue[] = [];
  for (let at = skipSpace(text, open + 1); ; at = skipSpace(text, at + 1)) {
    if (text[at] === ")" && values.length === 0) {
      throw new QuerySyntaxError("`IN()` has no values", start, at + 1 - start);
    }
    if (at >= text.length) throw new QuerySyntaxError("the list of `IN` is never closed", open);
    const value = readPlain(text, at, ",", () => {
      throw new QuerySyntaxError("a value is missing in the list of `IN`", at);
    });
    if (values.length === maxValues) {
      const reason = `a list of \`IN\` has at most ${maxValues} values`;
      throw new QuerySyntaxError(reason, at, value.end - at);
    }
    values.push(value);
    at = skipSpace(text, value.end);
    if (text[at] === ")") return { values, end: at + 1 };
    if (at >= text.length) throw new QuerySyntaxError("the list of `IN` is never closed", open);
    if (text[at] !== ",") {
      throw new QuerySyntaxError("a comma is missing in the list of `IN`", at);
    }
  }
}

function readRange(
  text: string,
  open: number,
): Pick<RangeTerm, "operator" | "values" | "inclusive" | "end"> {
  const lowerAt = skipSpace(text, open + 1);
  const lower = readBound(text, lowerAt, open);
  const lowerEnd = lower?.end ?? lowerAt + 1;
  const toAt = skipSpace(text, lowerEnd);
  refuseOpenRange(text, toAt, open);
  if (toAt === lowerEnd || !text.startsWith("TO", toAt) || !isBoundary(text, toAt + 2, "]}")) {
    throw new QuerySyntaxError("`TO` is missing (a range is written `[a TO b]`)", toAt);
  }
  const upperAt = skipSpace(text, toAt + 2);
  const upper = readBound(text, upperAt, open);
  const upperEnd = upper?.end ?? upperAt + 1;
  const close = skipSpace(text, upperEnd);
  refuseOpenRange(text, close, open);
  const closing = text.charAt(close);
  if (closing !== "]" && closing !== "}") {
    throw new QuerySyntaxError("a range ends with `]` or `}` after its second value", close);
  }
  const end = close + 1;
  if (lower === null && upper === null) {
    const reason =
      "a range needs a value at one end at least (`field:*` asks whether a field is set)";
    throw new QuerySyntaxError(reason, open, end - open);
  }
  const inclusive = [
    lower === null || text[open] === "[",
    upper === null || closing === "]",
  ] as const;
  return { operator: "range", values: [lower, upper], inclusive, end };
}

function readBound(text: string, at: number, open: number): QueryValue | null {
  refuseOpenRange(text, at, open);
  const { value, star } = readText(text, at, "]}");
  if (star && !value.quoted && value.text === "") return null;
  return readPlain(text, at, "]}", () => {
    throw new QuerySyntaxError("a value is missing in the range", at);
  });
}

function refuseOpenRange(text: string, at: number, open: number): void {
  if (at >= text.length) throw new QuerySyntaxError("the range is never closed", open);
}

/** Parses a value without `*`; `onMissing` throws when it is missing. */
function readPlain(text: string, at: number, stops: string, onMissing: () => never): QueryValue {
  const { value, star } = readText(text, at, stops);
  if (star) throw new QuerySyntaxError("`*` is not allowed here (quote the value)", value.end);
  if (value.end === at) onMissing();
  if ("<>=".includes(text.charAt(at))) {
    const reason = `a bare value does not start with ${excerpt(text.charAt(at))} (quote the value)`;
    throw new QuerySyntaxError(reason, at);
  }
  refuseKeyword(value);
  return value;
}

function refuseKeyword(value: QueryValue): void {
  if (value.quoted || !isKeyword(value.text)) return;
  const reason = `${excerpt(value.text)} is a keyword (quote it to use it as a value)`;
  throw new QuerySyntaxError(reason, value.position, value.text.length);
}
