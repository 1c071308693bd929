import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { QueryNode } from "../../src/query/ast.ts";
import { QuerySyntaxError } from "../../src/query/QuerySyntaxError.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { printQuery } from "../helpers/query/print.ts";
import { queryTree, withoutPositions } from "../helpers/query/trees.ts";

const UNLIMITED = {
  maxLength: Infinity,
  maxDepth: Infinity,
  maxTerms: Infinity,
  maxListValues: Infinity,
};

const PIECES = [
  ...Array.from('()[]{}"*-\\:<>=, \t\n'),
  ...[
    "AND",
    "OR",
    "NOT",
    "TO",
    "IN",
    " AND ",
    " OR ",
    " NOT ",
    " TO ",
    "IN(",
    "name:",
    "a.b:",
    "a:(b:c",
    "x:(",
  ],
  ...['"two words"', "word", "pre*", "2026-01-31T12:00:00Z", "now-7d", "\\*", "ø", "😀", "\u0000"],
];

/** Parses; a rejection must be a QuerySyntaxError with a position inside the text. */
function parseOrRefuse(text: string): QueryNode | null {
  try {
    return parseQuery(text);
  } catch (error) {
    if (!(error instanceof QuerySyntaxError)) throw error;
    expect(error.position).toBeGreaterThanOrEqual(0);
    expect(error.length).toBeGreaterThanOrEqual(text === "" ? 0 : 1);
    expect(error.position + error.length).toBeLessThanOrEqual(text.length);
    expect(error.message).toBe(`query: ${error.reason} at position ${error.position + 1}`);
    expect(error.message.isWellFormed()).toBe(true);
    return null;
  }
}

function spans(node: QueryNode): { node: QueryNode; children: readonly QueryNode[] }[] {
  const children = "child" in node ? [node.child] : "children" in node ? node.children : [];
  return [{ node, children }, ...children.flatMap(spans)];
}

describe("properties of the query language", () => {
  test("a printed tree parses back to itself", () => {
    fc.assert(
      fc.property(queryTree, (tree) => {
        const parsed = parseQuery(printQuery(tree), UNLIMITED);
        expect(withoutPositions(parsed)).toEqual(withoutPositions(tree));
      }),
      { numRuns: 2000 },
    );
  });

  test("any text parses or is rejected with a position inside it", () => {
    const anyString = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.string({ unit: fc.nat({ max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
      fc.string({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(anyString, (text) => void parseOrRefuse(text)),
      { numRuns: 2000 },
    );
  });

  test("any sequence of tokens is rejected or parses to a tree that prints and parses back", () => {
    const soup = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((all) => all.join(""));
    let parsedCount = 0;
    fc.assert(
      fc.property(soup, (text) => {
        const tree = parseOrRefuse(text);
        if (tree === null) return;
        parsedCount++;
        const again = parseQuery(printQuery(tree), UNLIMITED);
        expect(withoutPositions(again)).toEqual(withoutPositions(tree));
      }),
      { numRuns: 5000 },
    );
    expect(parsedCount).toBeGreaterThan(100);
  });

  test("every node covers its children in source order", () => {
    fc.assert(
      fc.property(queryTree, (tree) => {
        const text = printQuery(tree);
        for (const { node, children } of spans(parseQuery(text, UNLIMITED))) {
          let from = node.position;
          for (const child of children) {
            expect(child.position).toBeGreaterThanOrEqual(from);
            from = child.end;
          }
          expect(node.end).toBeGreaterThanOrEqual(from);
          expect(node.end).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 300 },
    );
  });
});
