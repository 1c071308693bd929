/** Descriptions of the libraries and their replacements. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/^The root query type\b.*/, "The queries. Each field states the permissions that it needs."],
  [
    /^The root mutation type\b.*/,
    "The mutations. All fields of one operation run in one transaction. Each field states the permissions that it needs.",
  ],
  [/^A connection to a list of `(\w+)` values\.$/, "A page of `$1`."],
  [/^A list of edges which contains\b.*/, "The rows of the page with their cursors."],
  [/^A list of `\w+` objects\.$/, "The rows of the page."],
  [
    /^Information (?:about pagination in a connection|to aid in pagination)\.$/,
    "The first and last cursor of the page, and whether there are more rows.",
  ],
  [
    /^When paginating forwards, are there.*/,
    "When paging forwards, whether there are rows after the page.",
  ],
  [
    /^When paginating backwards, are there.*/,
    "When paging backwards, whether there are rows before the page.",
  ],
  [
    /^When paginating forwards, the cursor.*/,
    "The cursor of the last row. Use it as `after` to get the next page.",
  ],
  [
    /^When paginating backwards, the cursor.*/,
    "The cursor of the first row. Use it as `before` to get the previous page.",
  ],
  [/^An? `(\w+)` edge in the connection\.$/, "A row of a page of `$1` with its cursor."],
  [/^A cursor for use in pagination\.$/, "The cursor of the row, for use as `after` or `before`."],
  [/^The `\w+` at the end of the edge\.$/, "The row."],
  [
    /^A location in a connection\b.*/,
    "The position of a row in a list, as returned by the API. It is valid only for the order in which the list was requested.",
  ],
  [/^Methods to use when ordering `(\w+)`\.$/, "The ascending and descending orders of `$1`."],
  [/^Reads a single `(\w+)` that is related\b.*/, "The related `$1`."],
  [/^A floating point number\b.*/, "A decimal number as text, with arbitrary precision."],
  [
    /^A signed eight-byte integer\..*/,
    "A whole number as text, because it can exceed the safe integers of JavaScript.",
  ],
  [/^Distinct count aggregates\b.*/, "The number of distinct values of each field."],
  [/^Minimum aggregates\b.*/, "The minimum of each field."],
  [/^Maximum aggregates\b.*/, "The maximum of each field."],
  [/^Sum aggregates\b.*/, "The sum of each field."],
  [/^Mean average aggregates\b.*/, "The average of each field."],
  // The description of the function follows for computed values.
  [
    /^Distinct count of this field\b[^-]*(?:-+ *)?(.*)/,
    "The number of distinct values of this field: $1",
  ],
  [/^Minimum of this field\b[^-]*(?:-+ *)?(.*)/, "The minimum of this field: $1"],
  [/^Maximum of this field\b[^-]*(?:-+ *)?(.*)/, "The maximum of this field: $1"],
  [/^Sum of this field\b[^-]*(?:-+ *)?(.*)/, "The sum of this field: $1"],
  [/^Mean average of this field\b[^-]*(?:-+ *)?(.*)/, "The average of this field: $1"],
  [/^Distinct count of (\w+) across\b.*/, "The number of distinct values of `$1`."],
  [/^Minimum of (\w+) across\b.*/, "The minimum of `$1`."],
  [/^Maximum of (\w+) across\b.*/, "The maximum of `$1`."],
  [/^Sum of (\w+) across\b.*/, "The sum of `$1`."],
  [/^Mean average of (\w+) across\b.*/, "The average of `$1`."],
];

/** Replaces a description that comes from a library; other descriptions are returned unchanged. */
export function replaceLibraryDescription(description: string): string {
  const text = description.replaceAll("\n", " ");
  for (const [pattern, plain] of replacements)
    if (pattern.test(text)) return text.replace(pattern, plain);
  return description;
}
