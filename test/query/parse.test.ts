import { describe, expect, test } from "@jest/globals";
import type { QueryNode } from "../../src/query/ast.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { withoutPositions } from "../helpers/query/trees.ts";

const NAME = { path: ["name"] };
const plain = (text: string) => ({ text, quoted: false });
const quoted = (text: string) => ({ text, quoted: true });
const word = (text: string) => ({ kind: "word", text, phrase: false, prefix: false });
const term = (operator: string, values: unknown, more = {}) => ({
  kind: "term",
  field: NAME,
  operator,
  values,
  ...more,
});
const eq = (text: string) => term("eq", [plain(text)]);
const range = (values: unknown, inclusive: boolean[]) => term("range", values, { inclusive });

function parsed(text: string): unknown {
  return withoutPositions(parseQuery(text));
}

describe("words", () => {
  test.each([
    ["riesling", word("riesling")],
    ["Gewürztraminer", word("Gewürztraminer")],
    ["日本酒", word("日本酒")],
    ["and", word("and")],
    ["ANDY", word("ANDY")],
    ["a-b", word("a-b")],
    ["\\-a\\:b\\ c", word("-a:b c")],
    ["ries*", { ...word("ries"), prefix: true }],
    ["NOT*", { ...word("NOT"), prefix: true }],
    ['"late harvest"', { ...word("late harvest"), phrase: true }],
    ['"say \\"hi\\" \\\\ *"', { ...word('say "hi" \\ *'), phrase: true }],
    ['"château la"*', { ...word("château la"), phrase: true, prefix: true }],
    ["  riesling\n", word("riesling")],
    ["\u00a0riesling\u3000", word("riesling")],
  ])("%j is parsed as a word", (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });
});

describe("terms", () => {
  test.each([
    ["name:a", eq("a")],
    ["name:a:b:c", eq("a:b:c")],
    ["name:2026-01-31T12:00:00Z", eq("2026-01-31T12:00:00Z")],
    ["name:today+1w", eq("today+1w")],
    ["name:-5", eq("-5")],
    ["name:1,5", eq("1,5")],
    ["name:50\\*", eq("50*")],
    ["name:and", eq("and")],
    ['name:"a phrase"', term("eq", [quoted("a phrase")])],
    ['name:""', term("eq", [quoted("")])],
    ['name:"*"', term("eq", [quoted("*")])],
    ['name:"OR"', term("eq", [quoted("OR")])],
    ["name:a*", term("prefix", [plain("a")])],
    ['name:"a b"*', term("prefix", [quoted("a b")])],
    ["name:*", term("exists", [])],
    ["name:>10", term("gt", [plain("10")])],
    ["name:>=10", term("gte", [plain("10")])],
    ["name:<10", term("lt", [plain("10")])],
    ['name:<="10"', term("lte", [quoted("10")])],
    ['name:IN("a",b)', term("in", [quoted("a"), plain("b")])],
    ["name:IN( a , b\\,c )", term("in", [plain("a"), plain("b,c")])],
    ["name:IN\\(", eq("IN(")],
    ["name:[10 TO 20]", range([plain("10"), plain("20")], [true, true])],
    ["name:{10 TO 20}", range([plain("10"), plain("20")], [false, false])],
    ["name:[10 TO 20}", range([plain("10"), plain("20")], [true, false])],
    ['name:{ 10\nTO "20 30" ]', range([plain("10"), quoted("20 30")], [false, true])],
    ["name:{* TO 20}", range([null, plain("20")], [true, false])],
    ["name:[10 TO *}", range([plain("10"), null], [true, true])],
  ])("%j is parsed as a term", (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  test("a field of a related table is a path", () => {
    expect(parseQuery("order.customer_2._x:Rød")).toMatchObject({
      field: { path: ["order", "customer_2", "_x"] },
      values: [{ text: "Rød" }],
    });
  });

  test("names of inherited object properties are ordinary field names", () => {
    expect(parseQuery("__proto__.constructor:a")).toMatchObject({
      field: { path: ["__proto__", "constructor"] },
    });
  });
});

describe("combinations", () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map(word);
  const and = (...children: unknown[]) => ({ kind: "and", children });
  const or = (...children: unknown[]) => ({ kind: "or", children });
  const not = (child: unknown) => ({ kind: "not", child });

  test.each([
    ["a b", and(a, b)],
    ["a AND b c", and(a, b, c)],
    ["a OR b OR c", or(a, b, c)],
    ["a OR b AND c d", or(a, and(b, c, d))],
    ["a b OR c d", or(and(a, b), and(c, d))],
    ["NOT a b", and(not(a), b)],
    ["a -b", and(a, not(b))],
    ["a AND NOT b OR -c", or(and(a, not(b)), not(c))],
    ["(a OR b) c", and(or(a, b), c)],
    ["a (b c)", and(a, and(b, c))],
    ["((a))", a],
    ["-(a OR b)", not(or(a, b))],
    ["NOT(NOT a)", not(not(a))],
    ["(a)(b)c", and(a, b, c)],
    ["(a)OR(b)", or(a, b)],
    ["-name:a", not(eq("a"))],
    ["name:(a OR b)", or(eq("a"), eq("b"))],
    ["-name:(a b) c", and(not(and(eq("a"), eq("b"))), c)],
    ["name:(a -b OR NOT c)", or(and(eq("a"), not(eq("b"))), not(eq("c")))],
    ["name:((a OR b) c*)", and(or(eq("a"), eq("b")), term("prefix", [plain("c")]))],
    ["name:(>=1 <2)", and(term("gte", [plain("1")]), term("lt", [plain("2")]))],
    [
      "name:(IN(a,b) OR * OR [1 TO 2])",
      or(
        term("in", [plain("a"), plain("b")]),
        term("exists", []),
        range([plain("1"), plain("2")], [true, true]),
      ),
    ],
    ["name:(a) d", and(eq("a"), d)],
  ])("%j is grouped by operator precedence", (text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });
});

describe("positions", () => {
  const covered = (text: string, { position, end }: { position: number; end: number }) =>
    text.slice(position, end);

  test("a term, its field and its values cover their source text", () => {
    const text = ' 😀 wineType.name:IN("a \\"b", c) x*';
    const root = parseQuery(text);
    if (root.kind !== "and") throw new Error("three words stand side by side");
    expect(covered(text, root)).toBe(text.slice(1));
    expect(root.children.map((child) => covered(text, child))).toEqual([
      "😀",
      'wineType.name:IN("a \\"b", c)',
      "x*",
    ]);
    const term = root.children[1] as Extract<QueryNode, { operator: "in" }>;
    expect(covered(text, term.field)).toBe("wineType.name");
    expect(term.values.map((value) => covered(text, value))).toEqual(['"a \\"b"', "c"]);
  });

  test("a node around parentheses covers them", () => {
    const text = "z OR -name:(a b) (c)";
    const root = parseQuery(text);
    if (root.kind !== "or") throw new Error("an alternative");
    const [, right] = root.children;
    if (right?.kind !== "and") throw new Error("a conjunction");
    expect(covered(text, right)).toBe("-name:(a b) (c)");
    expect(right.children.map((child) => covered(text, child))).toEqual(["-name:(a b)", "c"]);
  });

  test("terms of a group cover their value and refer to the shared field", () => {
    const root = parseQuery("name:(a OR b*)");
    if (root.kind !== "or") throw new Error("an alternative");
    expect(root.children).toMatchObject([
      { position: 6, end: 7, field: { position: 0, end: 4 } },
      {
        position: 11,
        end: 13,
        field: { position: 0, end: 4 },
        values: [{ position: 11, end: 12 }],
      },
    ]);
  });
});
