import { sql } from "postgraphile/pg-sql2";
import type { Text as Answer } from "../postgres/textAnswer.ts";
import type { Text } from "./text.ts";

// JSON allows a tab around values and escapes it within strings, so no other tab occurs in a response.
const tab = "\t".charCodeAt(0);
const mark = sql`E'\\t'`;

/** Marks a value within the JSON of a response. */
export function markRootField(text: Text): Text {
  return [mark, ...text, mark];
}

/** The marked values of a response, in order. */
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

/** After splitting on tabs, odd-indexed parts are values. */
function isValue(_part: unknown, index: number): boolean {
  return index % 2 === 1;
}
