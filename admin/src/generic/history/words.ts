import { diffWordsWithSpace } from "diff";

/** A piece of text that both versions have, or only one. */
export interface Piece {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Texts that differ in more words than this are shown whole, one after the other. */
const maxChanges = 400;

/** Differences of two texts, by words. */
export function wordDifferences(before: string, after: string): Piece[] {
  const parts = diffWordsWithSpace(before, after, { maxEditLength: maxChanges });
  if (parts === undefined)
    return [
      { kind: "removed", text: before },
      { kind: "added", text: after },
    ];
  return parts.map(({ value, added, removed }) => ({
    kind: added ? "added" : removed ? "removed" : "same",
    text: value,
  }));
}
