import { SHEET_LIMITS } from "./limits.ts";

const TOKEN = new RegExp(
  [
    String.raw`"[^"]*"`, // a literal
    String.raw`\\.`, // one literal character
    String.raw`[_*].`, // a space as wide as the character, or the cell filled with it
    String.raw`\[(?:black|blue|cyan|green|magenta|red|white|yellow|colou?r ?\d{1,2})\]`,
    String.raw`\[(?:[<>]=?|=|<>)-?\d+(?:\.\d+)?\]`,
    String.raw`\[\$[^\]"]{0,64}\]`, // a currency or a language
    String.raw`\[(?:h+|m+|s+)\]`, // time that passed
    "General",
    "AM/PM",
    "A/P",
    String.raw`E[+-]`,
    String.raw`[yY]{1,4}|[mM]{1,5}|[dD]{1,4}|[hH]{1,2}|[sS]{1,2}`,
    String.raw`[0#?.,%@;/:$()+\-!^&'~{}<>= ]`,
    // Signs outside ASCII, such as a currency's, stand for themselves.
    String.raw`[^\u0000-\u007f]`,
  ].join("|"),
  "giuy",
);

/** What is wrong with a number format, for people; null if Excel takes it. */
export function numberFormatProblem(format: string): string | null {
  if (format.trim() === "") return "A number format may not be blank";
  if (format.length > SHEET_LIMITS.numberFormat)
    return `A number format has at most ${SHEET_LIMITS.numberFormat} characters`;
  if (!format.isWellFormed()) return "The number format holds half a character";
  let end = 0;
  let sections = 1;
  for (const [token] of format.matchAll(TOKEN)) {
    end += token.length;
    if (token === ";") sections++;
  }
  if (end < format.length)
    return `The number format ${format} is not understood from character ${end + 1} on: put text in double quotes, as in 0.00 "kr"`;
  if (sections > 4) return "A number format has at most four sections, separated by semicolons";
  return null;
}
