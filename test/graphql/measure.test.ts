import { describe, expect, test } from "@jest/globals";
import { buildSchema, getIntrospectionQuery, parse } from "graphql";
import { readConfig } from "../../src/config.ts";
import { OfficeError } from "../../src/errors.ts";
import { makeDocuments } from "../../src/graphql/documents.ts";
import { type DocumentLimits, checkDocument } from "../../src/graphql/measure.ts";
import { hostileDocuments } from "../helpers/hostileDocuments.ts";

const schema = buildSchema(`
  interface Thing { id: ID! parts(first: Int): [Thing!]! }
  type Query implements Thing {
    id: ID!
    me: Query
    parts(first: Int): [Thing!]!
    roles: [Query!]!
    pages(first: Int, last: Int, offset: Int): Pages!
    take(a: Any): Int
  }
  type Pages { nodes: [Query!]! edges: [Edge!]! totalCount: Int }
  type Edge { node: Query }
  type Mutation { add: Query }
  scalar Any
`);
const roomy: DocumentLimits = {
  depth: 1_000,
  aliases: 1_000,
  fields: 10_000,
  rootFields: 1_000,
  cost: 1e9,
};

/** Why the document is refused; null when it passes. */
function refusal(query: string, limits: Partial<DocumentLimits> = {}): string | null {
  try {
    checkDocument(parse(query), schema, { ...roomy, ...limits });
    return null;
  } catch (error) {
    if (error instanceof OfficeError && error.code === "BAD_USER_INPUT") return error.message;
    throw error;
  }
}

const nested = (levels: number, inner = "id") =>
  `${"me { ".repeat(levels)}${inner}${" }".repeat(levels)}`;
const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_value, index) => part(index)).join(" ");

describe("a document at its bound passes, and one beyond it is refused by its name and numbers", () => {
  const pairs: [string, (size: number) => string, number, Partial<DocumentLimits>, string][] = [
    ["depth", (n) => `{ ${nested(n - 1)} }`, 14, { depth: 14 }, "levels of nesting"],
    [
      "depth within fragments",
      (n) => `{ ...A } fragment A on Query { ${nested(n - 1)} }`,
      14,
      { depth: 14 },
      "levels of nesting",
    ],
    [
      "depth of a chain of fragments",
      (n) =>
        `{ ...A1 } ${times(n - 2, (i) => `fragment A${i + 1} on Query { me { ...A${i + 2} } }`)} fragment A${n - 1} on Query { me { id } }`,
      14,
      { depth: 14 },
      "levels of nesting",
    ],
    [
      "introspection",
      (n) => `{ __type(name: "Query") { ${"ofType { ".repeat(n - 2)}name${" }".repeat(n - 2)} } }`,
      20,
      { depth: 14 },
      "levels of nesting",
    ],
    [
      "fragments within fragments",
      (n) => `{ ${"... { ".repeat(n - 1)}id${" }".repeat(n - 1)} }`,
      60,
      { depth: 14 },
      "levels of fragments",
    ],
    [
      "aliases",
      (n) => `{ me { ${times(n, (i) => `a${i}: id`)} } }`,
      50,
      { aliases: 50 },
      "aliases",
    ],
    [
      "aliases through fragments",
      (n) =>
        `{ ${times(n / 5, (i) => `a${i}: me { ...A }`)} } fragment A on Query { a: id b: id c: id d: id }`,
      50,
      { aliases: 50 },
      "aliases",
    ],
    ["fields", (n) => `{ ${times(n, (i) => `a${i}: id`)} }`, 100, { fields: 100 }, "fields"],
    [
      "fields through fragments",
      (n) =>
        `{ ${times(n / 4, (i) => `a${i}: me { ...A }`)} } fragment A on Query { a: id b: id c: id }`,
      100,
      { fields: 100 },
      "fields",
    ],
    [
      "root fields",
      (n) => `{ ${times(n, (i) => `a${i}: id`)} }`,
      20,
      { rootFields: 20 },
      "root fields",
    ],
    [
      "root fields through fragments",
      (n) =>
        `{ ${times(n / 2, () => "... { ...A }")} } fragment A on Query { a: id ... on Query { b: id } }`,
      20,
      { rootFields: 20 },
      "root fields",
    ],
    [
      "root fields of mutations",
      (n) => `mutation { ${times(n, (i) => `a${i}: add { id }`)} }`,
      20,
      { rootFields: 20 },
      "root fields",
    ],
    [
      "fragments",
      (n) => `{ id } ${times(n, (i) => `fragment A${i} on Query { id }`)}`,
      50,
      {},
      "fragments",
    ],
    ["operations", (n) => times(n, (i) => `query A${i} { id }`), 50, {}, "operations"],
    ["variables", (n) => `query (${times(n, (i) => `$v${i}: Int`)}) { id }`, 200, {}, "variables"],
    ["directives", (n) => `{ id ${"@include(if: true) ".repeat(n)} }`, 50, {}, "directives"],
    [
      "directives in many places",
      (n) =>
        `{ ${times(n / 2, (i) => `a${i}: id @skip(if: false)`)} } fragment A on Query { ${times(n / 2, (i) => `b${i}: id @skip(if: false)`)} }`,
      50,
      {},
      "directives",
    ],
    [
      "literals",
      (n) => `{ take(a: ${"[".repeat(n)}${"]".repeat(n)}) }`,
      20,
      {},
      "levels of nesting in a literal",
    ],
    [
      "objects in literals",
      (n) => `{ take(a: ${"{a: ".repeat(n)}1${"}".repeat(n)}) }`,
      20,
      {},
      "levels of nesting in a literal",
    ],
    ["repetitions", (n) => `{ id ${"id ".repeat(n)} }`, 50, {}, "repetitions of fields"],
    [
      "repetitions in inline fragments",
      (n) => `{ id ${"... { ... on Query { id } } ".repeat(n)} }`,
      50,
      {},
      "repetitions of fields",
    ],
    [
      "repetitions in unused fragments",
      (n) => `{ id } fragment A on Query { id ${"id ".repeat(n)} }`,
      50,
      {},
      "repetitions of fields",
    ],
    [
      "cost",
      (n) => `{ pages(first: ${n}) { nodes { id } } }`,
      100,
      { cost: 200 },
      "estimated objects",
    ],
  ];
  test.each(pairs)("%s", (_name, document, bound, limits, what) => {
    expect(refusal(document(bound), limits)).toBeNull();
    // The next one that differs: some grow by several at a time.
    const next = [1, 2, 3, 4, 5]
      .map((more) => document(bound + more))
      .find((query) => query !== document(bound));
    const beyond = refusal(next ?? "", limits);
    expect(beyond).toMatch(
      new RegExp(`^The document has \\d+ ${what}.*; at most \\d+ are allowed$`),
    );
  });
});

describe("the estimate of what an answer can hold", () => {
  /** The cost, found as the smallest limit that passes. */
  function cost(query: string): number {
    let [low, high] = [0, 1e15 + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (refusal(query, { cost: middle }) === null) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  test.each([
    ["nothing for plain values", "{ id }", 0],
    ["one for an object", "{ me { id } }", 1],
    [
      "its size for a page, and one for each object in it",
      "{ pages(first: 7) { nodes { id } } }",
      14,
    ],
    ["the same from the other end", "{ pages(last: 7) { nodes { id } } }", 14],
    ["the same through edges", "{ pages(first: 7) { edges { node { id } } } }", 21],
    ["50 for a page that says no size", "{ pages { nodes { id } } }", 100],
    [
      "the most that is allowed for a page whose size is a variable",
      "query ($n: Int) { pages(first: $n) { nodes { id } } }",
      500,
    ],
    [
      "the most that is allowed for a page of size null",
      "{ pages(first: null) { totalCount } }",
      250,
    ],
    [
      "no more than some pages, whatever is asked for",
      "{ pages(first: 2000000000) { totalCount } }",
      1_000,
    ],
    ["nothing for an empty page", "{ pages(first: 0) { nodes { me { id } } } }", 0],
    ["nothing for a page of less", "{ pages(first: -5) { nodes { id } } }", 0],
    ["ten for a list that has no pages", "{ roles { id } }", 10],
    [
      "products of what is nested",
      "{ pages(first: 10) { nodes { pages(first: 10) { nodes { id } } } } }",
      220,
    ],
    ["the fields of an interface, too", "{ parts(first: 3) { parts(first: 4) { id } } }", 15],
    ["sums of what stands beside it", "{ me { id } other: me { id } }", 2],
    [
      "each use of a fragment",
      "{ a: me { ...A } b: me { ...A } } fragment A on Query { roles { id } }",
      22,
    ],
  ])("counts %s", (_name, query, expected) => {
    expect(cost(query)).toBe(expected);
  });
  test("stays a number that can be compared, however deep pages are nested", () => {
    const deep = `{ ${"pages(first: 1000) { nodes { ".repeat(150)}id${" } }".repeat(150)} }`;
    expect(refusal(deep)).toMatch(/has 1000000000000000 estimated objects/);
    const none = `{ pages(first: 0) { nodes { ${"pages(first: 1000) { nodes { ".repeat(150)}id${" } }".repeat(150)} } } }`;
    expect(refusal(none)).toBeNull();
  });
});

describe("texts in a document", () => {
  test.each([
    [String.raw`{ take(a: "\u0000") }`, /^a holds/],
    [String.raw`{ take(a: {b: ["x", "\u{0}"]}) }`, /^a\.b\.1 holds/],
    [String.raw`query ($v: Any = "\u0000") { take(a: $v) }`, /holds/],
  ])("are refused with NUL: %s", (query, message) => {
    expect(refusal(query)).toMatch(message);
  });
  test.each([
    String.raw`{ take(a: "\\u0000") }`,
    `{ take(a: """\\u0000""") }`,
    String.raw`{ take(a: "\u{1F377}") }`,
  ])("may speak of it: %s", (query) => {
    expect(refusal(query)).toBeNull();
  });
});

describe("documents as they are read by default", () => {
  const config = readConfig({});
  const documents = makeDocuments(() => schema, config);

  test("may be the stock introspection query", () => {
    for (const options of [
      {},
      {
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        schemaDescription: true,
        inputValueDeprecation: true,
        oneOf: true,
      },
    ])
      expect(documents.read(getIntrospectionQuery(options)).errors).toBeUndefined();
  });

  test.each(hostileDocuments("roles", "id"))(
    "are refused within 50 ms when they are hostile: $name",
    ({ query }) => {
      // The best of some, each by itself a new document: other processes share the machine.
      const rounds = [1, 2, 3, 4, 5].map((round) => {
        const started = performance.now();
        const { errors } = documents.read(query + " ".repeat(round));
        expect(errors).toBeDefined();
        return performance.now() - started;
      });
      expect(Math.min(...rounds)).toBeLessThan(50);
    },
  );

  test("are kept by number and by size, refusals too", () => {
    expect(documents.read("{ id }")).toBe(documents.read("{ id }"));
    expect(documents.read("{ no }")).toBe(documents.read("{ no }"));
    const kept = documents.read("{ me { id } }");
    for (let index = 0; index < config.limits.planCache; index++)
      documents.read(`{ a${index}: id }`);
    expect(documents.read("{ me { id } }")).not.toBe(kept);
    const again = documents.read("{ me { id } }");
    for (let index = 0; index < 30; index++)
      documents.read(`{ a${index}: id } #${"x".repeat(90_000)}`);
    expect(documents.read("{ me { id } }")).not.toBe(again);
  });
});
