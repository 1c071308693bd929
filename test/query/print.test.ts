import { describe, expect, test } from "@jest/globals";
import type { QueryNode } from "../../src/query/ast.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { printQuery } from "../helpers/query/print.ts";

const SPAN = { position: 0, end: 0 };

describe("printQuery", () => {
  test.each([
    ["a b OR -c", "a AND b OR NOT c"],
    ["(a OR b) (c d)", "(a OR b) AND (c AND d)"],
    ["NOT (a b)", "NOT (a AND b)"],
    ["\\-a a\\:b name:a:b", "\\-a AND a\\:b AND name:a:b"],
    ['name:("a\\\\b"* OR IN(1 , 2))', 'name:"a\\\\b"* OR name:IN(1, 2)'],
    ["name:{*  TO 5}", "name:[* TO 5}"],
    ["name:-1,5", "name:-1,5"],
    ["t:2026-01-31T12:00:00Z", "t:2026-01-31T12:00:00Z"],
  ])("%j is printed as %j", (text, printed) => {
    expect(printQuery(parseQuery(text))).toBe(printed);
  });

  test.each([
    ["OR", '"OR"'],
    ["", '""'],
    ["a\tb", '"a\tb"'],
  ])("bare text %j that needs quotes is quoted in a handmade tree", (text, printed) => {
    const word: QueryNode = { kind: "word", text, phrase: false, prefix: false, ...SPAN };
    expect(printQuery(word)).toBe(printed);
    const value = { text, quoted: false, ...SPAN };
    const field = { path: ["name"], ...SPAN };
    const term: QueryNode = { kind: "term", field, operator: "eq", values: [value], ...SPAN };
    expect(printQuery(term)).toBe(`name:${printed}`);
  });
});
