import { describe, expect, test } from "@jest/globals";
import { refusal } from "../helpers/graphql/countingSchema.ts";

describe("the cost estimate of an operation", () => {
  /** The cost, determined as the smallest limit that accepts the operation. */
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
  test("is a finite number at any depth of nested pages", () => {
    const deep = `{ ${"pages(first: 1000) { nodes { ".repeat(150)}id${" } }".repeat(150)} }`;
    expect(refusal(deep)).toMatch(/has 1000000000000000 estimated objects/);
    const none = `{ pages(first: 0) { nodes { ${"pages(first: 1000) { nodes { ".repeat(150)}id${" } }".repeat(150)} } } }`;
    expect(refusal(none)).toBeNull();
  });
});
