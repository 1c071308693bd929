import type { ListedField, SearchTable } from "./catalogue.ts";
import { listFields, wordFields } from "./catalogue.ts";
import { hasBeginnings, isOrdered, kindName } from "./conditions.ts";

/** The Markdown description of a connection's `query` argument. */
export function describeSearch(table: SearchTable): string {
  const words = wordFields(table).map(({ name }) => `\`${name}\``);
  const kinds = Map.groupBy(listFields(table), ({ field }) => kindName(field));
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
    "Of related rows, it is enough that one matches; conditions that one row must meet are grouped: `relation:(field:a other:b)`.",
  ].join("\n\n");
}

/** The description of the argument `queryValues`. */
export const describeQueryValues =
  'Values for `query`, in which `$name` stands for one: `query: "name:$name"` with `queryValues: {name: "Barolo (2016)"}`. Nothing in a ' +
  "value has to be escaped. A list stands in `field:IN($list)`. Every name has to stand in the query, and the other way round.";

function operators([first]: readonly ListedField[]): string {
  if (first === undefined) return "";
  const { kind, list } = first.field;
  const known = [
    ...(list ? ["asked of each element"] : []),
    ...(isOrdered(kind) ? ["`>`, `>=`, `<`, `<=`, `[a TO b]`, `{a TO b}`"] : []),
    ...(hasBeginnings(kind) ? ["`beginning*`"] : []),
  ];
  return known.length > 0 ? ` (${known.join("; ")})` : "";
}

function names(fields: readonly ListedField[]): string {
  return fields
    .map(({ name, field }) =>
      field.values ? `\`${name}\` (${[...field.values.keys()].join(", ")})` : `\`${name}\``,
    )
    .join(", ");
}
