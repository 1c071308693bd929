import type { Hit } from "./sorting.ts";
import type { Token, Tokeniser } from "./tokens.ts";

export interface HighlightOptions {
  /** Fields to show as a snippet. */
  fields: readonly string[];
  /** Fields to show in full as well. */
  fullFields: readonly string[];
  /** The number of words before and after the matches. */
  affixWords: number;
  /** Maximum number of words of a text that is shown whole. */
  snippetThreshold: number;
  mark: readonly [start: string, end: string];
  tokeniser: Tokeniser;
}

interface Marked {
  matched_tokens: string[];
  snippet: string;
  value?: string;
}

/** Maximum number of list elements that one highlight shows. */
const maxElements = 5;

/** The highlights of a hit: by field, and in Typesense's older format as a list with the best match first. */
export function highlightHit(
  { stored: { document }, match }: Hit,
  options: HighlightOptions,
): { highlight: Record<string, unknown>; highlights: unknown[] } {
  const highlight: Record<string, unknown> = {};
  const highlights: { weight: Weight; shown: object }[] = [];
  const found = match?.found ?? new Map<string, number>();
  const full = new Set(options.fullFields);
  for (const field of new Set([...options.fields, ...options.fullFields])) {
    const value = document[field];
    const show = (text: string) => markText(text, found, full.has(field), options);
    const weigh = (text: string) => weightOf(options.tokeniser.tokens(text), found);
    if (typeof value === "string") {
      const marked = show(value);
      if (marked.matched_tokens.length === 0) continue;
      highlight[field] = marked;
      highlights.push({ weight: weigh(value), shown: { field, ...marked } });
    } else if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
      const marked = value.map(show);
      const elements = marked
        .map((element, index) => ({ index, weight: weigh(value[index] ?? ""), marked: element }))
        .filter((element) => element.marked.matched_tokens.length > 0)
        .sort(bestFirst)
        .slice(0, maxElements);
      const [best] = elements;
      if (best === undefined) continue;
      highlight[field] = marked;
      highlights.push({
        weight: best.weight,
        shown: {
          field,
          indices: elements.map(({ index }) => index),
          matched_tokens: elements.map((element) => element.marked.matched_tokens),
          snippets: elements.map((element) => element.marked.snippet),
          ...(full.has(field) && { values: elements.map((element) => element.marked.value) }),
        },
      });
    }
  }
  return { highlight, highlights: highlights.sort(bestFirst).map(({ shown }) => shown) };
}

/** The quality of a match. Each number decides among matches with equal numbers before it. */
type Weight = readonly number[];

/**
 * Weighs the number of distinct matches, that within one window, their distance, and whether they are the whole
 * text.
 */
function weightOf(tokens: readonly Token[], found: ReadonlyMap<string, number>): Weight {
  const [first, last] = window(tokens, found);
  const distinct = (part: readonly Token[]) =>
    new Set(part.map(({ text }) => text).filter((text) => found.has(text))).size;
  const all = distinct(tokens);
  const nearby = distinct(tokens.slice(first, last + 1));
  return [all, nearby, first - last, tokens.length === all ? 1 : 0];
}

function bestFirst(a: { weight: Weight }, b: { weight: Weight }): number {
  const place = a.weight.findIndex((number, index) => number !== b.weight[index]);
  return place === -1 ? 0 : (b.weight[place] ?? 0) - (a.weight[place] ?? 0);
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

/** The first and the last match in the window with the most distinct matches. */
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

/** The end of the marked part: of a prefix match, only the letters of the query. */
function endOf(
  source: string,
  { text, start, end }: Token,
  found: ReadonlyMap<string, number>,
  tokeniser: Tokeniser,
): number {
  const named = found.get(text) ?? text.length;
  if (named >= text.length) return end;
  // The source may contain characters that folding drops, and letters that it replaces by two.
  for (let at = start + 1; at < end; at++)
    if (tokeniser.folded(source.slice(start, at)).length >= named) return at;
  return end;
}
