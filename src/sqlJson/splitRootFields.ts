import { sql } from "postgraphile/pg-sql2";
import type { Text as Answer } from "../postgres/textAnswer.ts";
import type { Text } from "./text.ts";

// Blanks may stand around any value, and within strings JSON escapes this one: nothing else in an answer is a tab.
const tab = "\t".charCodeAt(0);
const mark = sql`E'\\t'`;

/** Sets a value apart in the text that it is part of. */
export function markRootField(text: Text): Text {
  return [mark, ...text, mark];
}

/** The texts of the values that were set apart in an answer, in their order. */
export function splitRootFields(answer: Answer): Answer[] {
  if (typeof answer === "string") return answer.split("\t").filter(isValue);
  const parts: Buffer[][] = [[]];
  for (const block of answer) {
    let start = 0;
    for (let at = block.indexOf(tab); at >= 0; at = block.indexOf(tab, start)) {
      parts.at(-1)?.push(block.subarray(start, at));
      parts.push([]);
      start = at + 1;
    }
    parts.at(-1)?.push(block.subarray(start));
  }
  return parts.filter(isValue);
}

/** Of what stands before, between and after tabs, every other is a value. */
function isValue(_part: unknown, index: number): boolean {
  return index % 2 === 1;
}
