import type { Hit } from "./sorting.ts";
import type { Token, Tokeniser } from "./tokens.ts";

export interface HighlightOptions {
  /** Fields of which the best part is shown. */
  fields: readonly string[];
  /** Fields that are shown in full as well. */
  fullFields: readonly string[];
  /** Words shown before and after. */
  affixWords: number;
  /** Up to so many words a text is shown whole. */
  snippetThreshold: number;
  mark: readonly [start: string, end: string];
  tokeniser: Tokeniser;
}

interface Marked {
  matched_tokens: string[];
  snippet: string;
  value?: string;
}

/** What was found in a hit's texts: by field, and in the older form, a list. */
export function highlightHit(
  { stored: { document }, match }: Hit,
  options: HighlightOptions,
): { highlight: Record<string, unknown>; highlights: unknown[] } {
  const highlight: Record<string, unknown> = {};
  const highlights: unknown[] = [];
  const found = match?.found ?? new Map<string, number>();
  const full = new Set(options.fullFields);
  for (const field of new Set([...options.fields, ...options.fullFields])) {
    const value = document[field];
    const show = (text: string) => markText(text, found, full.has(field), options);
    if (typeof value === "string") {
      const marked = show(value);
      if (marked.matched_tokens.length === 0) continue;
      highlight[field] = marked;
      highlights.push({ field, ...marked });
    } else if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
      const marked = value.map(show);
      const indices = [...marked.keys()].filter((at) => marked[at]?.matched_tokens.length !== 0);
      if (indices.length === 0) continue;
      const matched = indices.map((at) => marked[at]).filter((one) => one !== undefined);
      highlight[field] = marked;
      highlights.push({
        field,
        indices,
        matched_tokens: matched.map((one) => one.matched_tokens),
        snippets: matched.map(({ snippet }) => snippet),
        ...(full.has(field) && { values: matched.map((one) => one.value) }),
      });
    }
  }
  return { highlight, highlights };
}

function markText(
  text: string,
  found: ReadonlyMap<string, number>,
  full: boolean,
  options: HighlightOptions,
): Marked {
  const tokens = options.tokeniser.tokens(text);
  const matched = tokens.filter((token) => found.has(token.text));
  const whole = () => markPart(text, 0, text.length, matched, found, options);
  const [first, last] = tokens.length > options.snippetThreshold ? window(tokens, found) : [0, 0];
  const start = tokens[Math.max(0, first - options.affixWords)]?.start ?? 0;
  const end = tokens[Math.min(tokens.length - 1, last + options.affixWords)]?.end ?? text.length;
  const isCut = tokens.length > options.snippetThreshold;
  return {
    matched_tokens: matched.map((token) =>
      text.slice(token.start, endOf(text, token, found, options.tokeniser)),
    ),
    snippet: isCut ? markPart(text, start, end, matched, found, options) : whole(),
    ...(full && { value: whole() }),
  };
}

const windowWords = 10;

/** The first and last place of matches within the stretch of words that has most of them. */
function window(tokens: readonly Token[], found: ReadonlyMap<string, number>): [number, number] {
  const places = [...tokens.keys()].filter((place) => found.has(tokens[place]?.text ?? ""));
  let best: { places: number[]; distinct: number } = { places: [0], distinct: 0 };
  for (const [index, place] of places.entries()) {
    const within = places.slice(index).filter((other) => other - place <= windowWords);
    const distinct = new Set(within.map((other) => tokens[other]?.text)).size;
    if (distinct > best.distinct) best = { places: within, distinct };
  }
  return [best.places[0] ?? 0, best.places.at(-1) ?? 0];
}

function markPart(
  text: string,
  from: number,
  to: number,
  matched: readonly Token[],
  found: ReadonlyMap<string, number>,
  { mark, tokeniser }: HighlightOptions,
): string {
  let shown = "";
  let position = from;
  for (const token of matched) {
    if (token.start < from || token.end > to) continue;
    const end = endOf(text, token, found, tokeniser);
    shown += `${text.slice(position, token.start)}${mark[0]}${text.slice(token.start, end)}${mark[1]}`;
    position = end;
  }
  return shown + text.slice(position, to);
}

/** Of a word that goes on after what was asked for, only that much is marked. */
function endOf(
  source: string,
  { text, start, end }: Token,
  found: ReadonlyMap<string, number>,
  tokeniser: Tokeniser,
): number {
  const named = found.get(text) ?? text.length;
  if (named >= text.length) return end;
  // Signs that are not searched for stand between, and some letters are searched for as two.
  for (let at = start + 1; at < end; at++)
    if (tokeniser.folded(source.slice(start, at)).length >= named) return at;
  return end;
}
