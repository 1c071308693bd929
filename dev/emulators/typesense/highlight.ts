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

/** Most elements of a list of texts that one highlight shows. */
const mostElements = 5;

/** What was found in a hit's texts: by field, and in the older form, a list that begins with the best match. */
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
        .slice(0, mostElements);
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

/** How well a text matches; among equals of one number, the next decides. */
type Weight = readonly number[];

/** Weighs the distinct words found, those that stand together, their nearness, and whether they are the whole text. */
function weightOf(tokens: readonly Token[], found: ReadonlyMap<string, number>): Weight {
  const [first, last] = window(tokens, found);
  const distinct = (part: readonly Token[]) =>
    new Set(part.map(({ text }) => text).filter((text) => found.has(text))).size;
  const all = distinct(tokens);
  const together = distinct(tokens.slice(first, last + 1));
  return [all, together, first - last, tokens.length === all ? 1 : 0];
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
