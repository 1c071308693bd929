import { diffWordsWithSpace } from "diff";

/** A part of a text that occurs in both versions or in one. */
export interface DiffPart {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Texts that differ in more words are shown in full, one after the other. */
const maxChanges = 400;

/** Compares two texts by words. */
export function diffWords(before: string, after: string): DiffPart[] {
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
