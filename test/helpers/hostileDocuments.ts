/** A document that costs much more to process than to send. */
export interface HostileDocument {
  name: string;
  query: string;
}

const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_value, index) => part(index)).join(" ");

/**
 * Documents that stall a server that validates and plans them without limits.
 * @param list a root field that returns objects, each of which has the same field
 * @param leaf a scalar field of those objects
 * @param type the type of those objects
 */
export function hostileDocuments(list: string, leaf: string, type = "Query"): HostileDocument[] {
  const fragment = (name: string, body: string) => `fragment ${name} on ${type} { ${body} }`;
  return [
    {
      name: "fragments that double thirty times",
      query: `{ ${list} { ...A0 } } ${times(30, (i) => fragment(`A${i}`, `a${i}: ${leaf} ...A${i + 1} ...A${i + 1}`))} ${fragment("A30", leaf)}`,
    },
    {
      name: "fragments that double forty times, deeper each time",
      query: `{ ${list} { ...A0 } } ${times(40, (i) => fragment(`A${i}`, `a: ${list} { ...A${i + 1} } b: ${list} { ...A${i + 1} }`))} ${fragment("A40", leaf)}`,
    },
    {
      name: "1,500 aliases and a cycle of fragments",
      query: `{ ${list} { ${times(1_000, (i) => `a${i}:${leaf}`)} ...A } } ${fragment("A", "...B")} ${fragment("B", `${times(300, (i) => `b${i}:${leaf}`)} ...A`)}`,
    },
    { name: "1,300 aliases of lists", query: `{ ${times(660, (i) => `a${i}:${list}{${leaf}}`)} }` },
    {
      name: "the same list 600 times",
      query: `{ ${list} { ${`${list} { ${leaf} } `.repeat(600)} } }`,
    },
    { name: "the same field 3,000 times", query: `{ ${list} { ${`${leaf} `.repeat(3_000)} } }` },
    {
      name: "the same lists in 50 fragments",
      query: `{ ${list} { ${times(50, (i) => `...A${i}`)} } } ${times(50, (i) => fragment(`A${i}`, `${list} { ${list} { ${leaf} } } `.repeat(6)))}`,
    },
    {
      name: "two fragments with the same 400 fields each",
      query: `{ ${list} { ...A ...B } } ${fragment(
        "A",
        times(400, (i) => `a${i}: ${leaf}`),
      )} ${fragment(
        "B",
        times(400, (i) => `a${i}: ${leaf}`),
      )}`,
    },
    {
      name: "lists nested a thousand times",
      query: `{ ${`${list} { `.repeat(1_000)}${leaf}${" }".repeat(1_000)} }`,
    },
    {
      name: "inline fragments nested a thousand times",
      query: `{ ${"... { ".repeat(1_000)}__typename${" }".repeat(1_000)} }`,
    },
    {
      name: "a literal nested 1,900 times",
      query: `{ ${list}(first: ${"[".repeat(1_900)}${"]".repeat(1_900)}) { ${leaf} } }`,
    },
    {
      name: "1,000 directives",
      query: `{ ${list} { ${leaf} ${"@skip(if:false) ".repeat(650)} } }`,
    },
    {
      name: "1,900 unknown fields",
      query: `{ ${list} { ${times(1_900, (i) => `${leaf}x${i}`)} } }`,
    },
    {
      name: "700 variables",
      query: `query (${times(700, (i) => `$v${i}: Int`)}) { ${list} { ${leaf} } }`,
    },
    {
      name: "1,500 wrong literals",
      query: `{ ${list}(first: [${'"x" '.repeat(1_500)}]) { ${leaf} } a: ${list}(orderBy: [${"1 ".repeat(1_500)}]) { ${leaf} } }`,
    },
    { name: "5,000 tokens", query: `{ ${list} { ${`${leaf} `.repeat(5_000)} } }` },
    { name: "100,001 characters", query: `{ ${list} { ${leaf} } } #${"x".repeat(100_000)}` },
    { name: "an open bracket 3,900 times", query: "{".repeat(3_900) },
  ];
}
