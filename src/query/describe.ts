import type { ListedField, SearchTable } from "./searchTable.ts";
import { listFields, wordFields } from "./searchTable.ts";
import { hasBeginnings, isOrdered, kindName } from "./conditions.ts";

/** The Markdown description of a connection's `query` argument. */
export function describeSearch(table: SearchTable): string {
  const words = wordFields(table).map(({ name }) => `\`${name}\``);
  const kinds = Map.groupBy(listFields(table), ({ field }) => kindName(field));
  return [
    "Returns only rows that match this search. Terms have the form `field:value`, and are combined with `AND` (or side by side), " +
      "`OR`, `NOT` (or a leading `-`) and parentheses. Values with spaces need quotes. A blank search is rejected; omit it to " +
      "get all rows.",
    words.length > 0
      ? `Words without a field are searched in ${words.join(", ")}: \`word\` anywhere in the text, \`word*\` at the beginning of a word, ` +
        '`"some words"` as a phrase. Case and accents are ignored.'
      : "Words without a field are not searched here.",
    "Fields by kind, with their operators in addition to `field:value`, `field:IN(a, b)` and `field:*` (is set):",
    [...kinds]
      .map(([kind, fields]) => `- ${kind}${operators(fields)}: ${names(fields)}`)
      .join("\n"),
    "A condition on related rows is met if one of them matches. Conditions that one row must meet are grouped: `relation:(field:a other:b)`.",
  ].join("\n\n");
}

/** The description of the argument `queryValues`. */
export const describeQueryValues =
  'Values for variables such as `$name` in `query`: `query: "name:$name"` with `queryValues: {name: "Barolo (2016)"}`. Values need no ' +
  "escaping. Use a list with `field:IN($list)`. Each value must be used in the query, and each variable of the query needs a value.";

function operators([first]: readonly ListedField[]): string {
  if (first === undefined) return "";
  const { kind, list } = first.field;
  const known = [
    ...(list ? ["applied to each element"] : []),
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
