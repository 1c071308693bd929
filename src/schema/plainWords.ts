/** Descriptions of the libraries and their replacements. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/^The root query type\b.*/, "What can be read. Each field says what it needs."],
  [
    /^The root mutation type\b.*/,
    "What can be changed. All fields of one operation are one transaction; each says what it needs.",
  ],
  [/^A connection to a list of `(\w+)` values\.$/, "A page of `$1`."],
  [/^A list of edges which contains\b.*/, "The rows of the page, each with its cursor."],
  [/^A list of `\w+` objects\.$/, "The rows of the page."],
  [
    /^Information (?:about pagination in a connection|to aid in pagination)\.$/,
    "Where a page begins and ends, and whether there is more.",
  ],
  [/^When paginating forwards, are there.*/, "When paging forwards: whether more rows follow."],
  [
    /^When paginating backwards, are there.*/,
    "When paging backwards: whether more rows come before.",
  ],
  [
    /^When paginating forwards, the cursor.*/,
    "The last row's cursor: `after` it, the list goes on.",
  ],
  [
    /^When paginating backwards, the cursor.*/,
    "The first row's cursor: `before` it, the list goes on backwards.",
  ],
  [/^An? `(\w+)` edge in the connection\.$/, "A row of a page of `$1`, with its cursor."],
  [
    /^A cursor for use in pagination\.$/,
    "Goes into `after` or `before`, to page on from this row.",
  ],
  [/^The `\w+` at the end of the edge\.$/, "The row."],
  [
    /^A location in a connection\b.*/,
    "A place in a list, as an answer gave it; it goes with the order that the list had.",
  ],
  [
    /^Methods to use when ordering `(\w+)`\.$/,
    "What `$1` can be ordered by, upwards or downwards.",
  ],
  [/^Reads a single `(\w+)` that is related\b.*/, "The `$1` that it refers to."],
  [/^A floating point number\b.*/, "A decimal number as text, exact at any length."],
  [
    /^A signed eight-byte integer\..*/,
    "A whole number as text, since it may be greater than JavaScript's numbers hold.",
  ],
  [/^Distinct count aggregates\b.*/, "How many different values each column has."],
  [/^Minimum aggregates\b.*/, "The least value of each column."],
  [/^Maximum aggregates\b.*/, "The greatest value of each column."],
  [/^Sum aggregates\b.*/, "The sum of each column."],
  [/^Mean average aggregates\b.*/, "The mean of each column."],
  // The description of the function follows for computed values.
  [/^Distinct count of this field\b[^-]*(?:-+ *)?(.*)/, "How many different values this has: $1"],
  [/^Minimum of this field\b[^-]*(?:-+ *)?(.*)/, "The least value of this: $1"],
  [/^Maximum of this field\b[^-]*(?:-+ *)?(.*)/, "The greatest value of this: $1"],
  [/^Sum of this field\b[^-]*(?:-+ *)?(.*)/, "The sum of this: $1"],
  [/^Mean average of this field\b[^-]*(?:-+ *)?(.*)/, "The mean of this: $1"],
  [/^Distinct count of (\w+) across\b.*/, "How many different values `$1` has."],
  [/^Minimum of (\w+) across\b.*/, "The least `$1`."],
  [/^Maximum of (\w+) across\b.*/, "The greatest `$1`."],
  [/^Sum of (\w+) across\b.*/, "The sum of `$1`."],
  [/^Mean average of (\w+) across\b.*/, "The mean of `$1`."],
];

/** Replaces a description that comes from a library; other descriptions are returned unchanged. */
export function plainWords(description: string): string {
  const text = description.replaceAll("\n", " ");
  for (const [pattern, plain] of phrases)
    if (pattern.test(text)) return text.replace(pattern, plain);
  return description;
}
