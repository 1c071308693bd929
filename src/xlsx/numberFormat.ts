import { SHEET_LIMITS } from "./limits.ts";

const TOKEN = new RegExp(
  [
    String.raw`"[^"]*"`, // a quoted literal
    String.raw`\\.`, // one literal character
    String.raw`[_*].`, // a space of the character's width, or a fill character
    String.raw`\[(?:black|blue|cyan|green|magenta|red|white|yellow|colou?r ?\d{1,2})\]`,
    String.raw`\[(?:[<>]=?|=|<>)-?\d+(?:\.\d+)?\]`,
    String.raw`\[\$[^\]"]{0,64}\]`, // a currency or a language
    String.raw`\[(?:h+|m+|s+)\]`, // elapsed time
    "General",
    "AM/PM",
    "A/P",
    String.raw`E[+-]`,
    String.raw`[yY]{1,4}|[mM]{1,5}|[dD]{1,4}|[hH]{1,2}|[sS]{1,2}`,
    String.raw`[0#?.,%@;/:$()+\-!^&'~{}<>= ]`,
    // Characters outside ASCII, such as currency signs, are literals.
    String.raw`[^\u0000-\u007f]`,
  ].join("|"),
  "giuy",
);

/** Returns why Excel would reject a number format, for users; null if it is valid. */
export function numberFormatProblem(format: string): string | null {
  if (format.trim() === "") return "A number format may not be blank";
  if (format.length > SHEET_LIMITS.numberFormat)
    return `A number format has at most ${SHEET_LIMITS.numberFormat} characters`;
  if (!format.isWellFormed()) return "The number format contains an unpaired surrogate";
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
