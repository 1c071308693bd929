import { SHEET_LIMITS } from "./limits.ts";

const FORBIDDEN = /[:\\/?*[\]\p{Cc}\ufffe\uffff]/gu;
/** A sheet name that Excel reserves. */
const RESERVED = "history";

/**
 * Returns a valid sheet name that is as similar as possible to `wanted`: without `: \ / ? * [ ]`, control characters
 * and apostrophes at the ends, at most 31 UTF-16 units long, and different from `taken`, ignoring case.
 */
export function toSheetName(wanted: string, taken: readonly string[] = []): string {
  const trimmed = withoutEdges(wanted.toWellFormed().replace(FORBIDDEN, " ").replace(/\s+/g, " "));
  const base =
    trimmed === "" || trimmed.toLowerCase() === RESERVED ? `${trimmed} sheet`.trim() : trimmed;
  const isTaken = new Set(taken.map((name) => name.toLowerCase()));
  for (let turn = 1; ; turn++) {
    const suffix = turn === 1 ? "" : ` (${turn})`;
    const name = `${cutTo(base, SHEET_LIMITS.sheetName - suffix.length)}${suffix}`;
    if (!isTaken.has(name.toLowerCase())) return name;
  }
}

/** A regular expression for the end would be tried at each of many apostrophes. */
function withoutEdges(text: string): string {
  const isEdge = (index: number) => /[\s']/.test(text.charAt(index));
  let [start, end] = [0, text.length];
  while (start < end && isEdge(start)) start++;
  while (end > start && isEdge(end - 1)) end--;
  return text.slice(start, end);
}

/** Truncates between characters and removes an invalid end. */
function cutTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
  return text.slice(0, end).replace(/[\s']+$/, "");
}
