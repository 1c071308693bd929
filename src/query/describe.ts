import type { ListedField, SearchTable } from "./catalogue.ts";
import { listFields, wordFields } from "./catalogue.ts";
import { hasBeginnings, isOrdered, KIND_NAMES } from "./conditions.ts";

/** The text, in Markdown, that tells callers what the `query` argument of a table's connection can ask. */
export function describeSearch(table: SearchTable): string {
  const words = wordFields(table).map(({ name }) => `\`${name}\``);
  const kinds = Map.groupBy(listFields(table), ({ field }) => KIND_NAMES[field.kind]);
  return [
    "Only what matches this search. Terms are written `field:value`, combined with `AND` (or side by side), `OR`, `NOT` (or a " +
      "leading `-`) and parentheses; a value with spaces is quoted. A blank search is refused; leave it out to get everything.",
    words.length > 0
      ? `Words without a field are searched in ${words.join(", ")}: \`word\` anywhere, \`word*\` where a word begins with it, ` +
        '`"some words"` as they stand. Case and accents make no difference.'
      : "Words without a field are not searched here.",
    "Fields, with what each kind can be asked beside `field:value`, `field:IN(a, b)` and `field:*` (is set):",
    [...kinds]
      .map(([kind, fields]) => `- ${kind}${operators(fields)}: ${names(fields)}`)
      .join("\n"),
    "Of related rows, it is enough that one matches.",
  ].join("\n\n");
}

function operators([first]: readonly ListedField[]): string {
  if (first === undefined) return "";
  if (isOrdered(first.field.kind)) return " (`>`, `>=`, `<`, `<=`, `[a TO b]`, `{a TO b}`)";
  return hasBeginnings(first.field.kind) ? " (`beginning*`)" : "";
}

function names(fields: readonly ListedField[]): string {
  return fields
    .map(({ name, field }) =>
      field.values ? `\`${name}\` (${[...field.values.keys()].join(", ")})` : `\`${name}\``,
    )
    .join(", ");
}
