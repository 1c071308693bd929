import { describe, expect, test } from "@jest/globals";
import type { DocumentLimits } from "../../src/graphql/queryComplexity.ts";
import { refusal } from "../helpers/graphql/countingSchema.ts";

const nested = (levels: number, inner = "id") =>
  `${"me { ".repeat(levels)}${inner}${" }".repeat(levels)}`;
const times = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_value, index) => part(index)).join(" ");

describe("accepts a document at a limit and rejects one above it with the limit's name and numbers", () => {
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
    // The next size with another result: some grow by several at a time.
    const next = [1, 2, 3, 4, 5]
      .map((more) => document(bound + more))
      .find((query) => query !== document(bound));
    const beyond = refusal(next ?? "", limits);
    expect(beyond).toMatch(
      new RegExp(`^The document has \\d+ ${what}.*; at most \\d+ are allowed$`),
    );
  });
});
