import { describe, expect, test } from "@jest/globals";
import { GraphQLString } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SearchField, SearchTable } from "../../src/query/searchTable.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { cpuTime, measureUntilBelow } from "../helpers/cpuTime.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { printQuery } from "../helpers/query/print.ts";
import { refusal } from "../helpers/query/refusals.ts";
import { wines } from "../helpers/query/tables.ts";

const words = (count: number) => Array.from({ length: count }, () => "a").join(" ");
const list = (count: number) => `name:IN(${words(count).replaceAll(" ", ",")})`;
const nested = (depth: number) => `${"(".repeat(depth)}a${")".repeat(depth)}`;

describe("limits", () => {
  test("4,000 characters are accepted and 4,001 rejected", () => {
    expect(parseQuery("a".repeat(4000))).toMatchObject({ kind: "word", end: 4000 });
    expect(refusal(() => parseQuery("a".repeat(4001)))).toMatchObject({
      reason: "a query has at most 4000 characters",
      position: 4000,
      length: 1,
    });
  });

  test("100 terms are accepted and the 101st is rejected", () => {
    expect(parseQuery(words(100))).toMatchObject({ kind: "and" });
    expect(refusal(() => parseQuery(words(101)))).toMatchObject({
      reason: "a query has at most 100 terms",
      position: 200,
    });
  });

  test("values of a group count as terms", () => {
    expect(parseQuery(`name:(${words(100)})`)).toMatchObject({ kind: "and" });
    expect(refusal(() => parseQuery(`b name:(${words(100)})`)).reason).toBe(
      "a query has at most 100 terms",
    );
  });

  test("1,000 values of IN are accepted as one term and the 1,001st is rejected", () => {
    expect(parseQuery(`${list(1000)} ${words(99)}`)).toMatchObject({ kind: "and" });
    expect(refusal(() => parseQuery(list(1001)))).toMatchObject({
      reason: "a list of `IN` has at most 1000 values",
      position: 8 + 2000,
    });
  });

  test("20 levels of any kind are accepted and the 21st is rejected", () => {
    const reason = "a query is nested at most 20 levels deep";
    expect(parseQuery(nested(20))).toMatchObject({ kind: "word" });
    expect(refusal(() => parseQuery(nested(21)))).toMatchObject({ reason, position: 20 });
    expect(parseQuery(`${"-(".repeat(10)}a${")".repeat(10)}`)).toMatchObject({ kind: "not" });
    expect(refusal(() => parseQuery(`-${nested(20)}`))).toMatchObject({ reason, position: 20 });
    expect(refusal(() => parseQuery(`${"(".repeat(20)}-a`))).toMatchObject({
      reason,
      position: 20,
    });
    expect(refusal(() => parseQuery(`${"(".repeat(20)}b:(a`))).toMatchObject({ reason });
  });

  test("closed levels and negations do not count", () => {
    const text = `${nested(20)} -a -(b) -c:(d) ${nested(20)}`;
    expect(parseQuery(text)).toMatchObject({ kind: "and" });
  });

  test("24 conditions on prefixes are compiled and the 25th is rejected", () => {
    const compile = (count: number) =>
      compileQuery(
        parseQuery(Array.from({ length: count }, (_value, index) => `x${index}*`).join(" ")),
        wines,
        () => new Date(),
      );
    expect(compile(24)).toBeInstanceOf(Function);
    expect(refusal(() => compile(25)).reason).toMatch(
      /^a query has at most 24 conditions on beginnings of words/,
    );
  });

  test("alternatives and exclusions of prefixes are one condition", () => {
    const text = Array.from({ length: 50 }, (_value, index) => `x${index}*`);
    for (const query of [text.join(" OR "), text.map((word) => `-${word}`).join(" ")]) {
      const condition = compileQuery(parseQuery(query), wines, () => new Date());
      const { text: statement } = sql.compile(condition(sql.identifier("t")));
      expect(statement.match(/unnest/g)?.length).toBe(
        [...wines.fields.values()].filter(({ word }) => word).length,
      );
    }
  });

  test("limits can be set, and an undefined one stays at its default", () => {
    expect(refusal(() => parseQuery("a b", { maxTerms: 1 })).position).toBe(2);
    expect(refusal(() => parseQuery("(a)", { maxDepth: 0 })).position).toBe(0);
    expect(refusal(() => parseQuery("abc", { maxLength: 2 })).position).toBe(2);
    expect(refusal(() => parseQuery("a:IN(b,c)", { maxListValues: 1 })).position).toBe(7);
    expect(refusal(() => parseQuery(words(101), { maxTerms: undefined })).position).toBe(200);
  });
});

const UNLIMITED = {
  maxLength: Infinity,
  maxDepth: Infinity,
  maxTerms: Infinity,
  maxListValues: Infinity,
};

/** Repeats a piece up to n characters and closes open parentheses. */
const PATHOLOGICAL: [string, (n: number) => string][] = [
  ["open parentheses", (n) => "(".repeat(n)],
  ["nested parentheses", (n) => nested(n / 2)],
  ["nested negations", (n) => `${"-(".repeat(n / 3)}a${")".repeat(n / 3)}`],
  ["nested groups", (n) => `a:${nested(n / 2)}`],
  ["groups of relations", (n) => `${"a:(".repeat(n / 4)}b:c${")".repeat(n / 4)}`],
  ["values among terms", (n) => `a:(b:c ${"d:(e) ".repeat(n / 6)} f)`],
  ["keywords", (n) => "OR ".repeat(n / 3)],
  ["joined words", (n) => "a AND ".repeat(n / 6)],
  ["minus signs", (n) => "-".repeat(n)],
  ["negations", (n) => "NOT ".repeat(n / 4)],
  ["negated words", (n) => "-a ".repeat(n / 3)],
  ["quotes", (n) => '"'.repeat(n)],
  ["phrases", (n) => '"a" '.repeat(n / 4)],
  ["an unclosed quote", (n) => `"${"a".repeat(n)}`],
  ["escapes", (n) => "\\\\".repeat(n / 2)],
  ["one word", (n) => "a".repeat(n)],
  ["a dotted name without a colon", (n) => "a.".repeat(n / 2)],
  ["a dotted name", (n) => `${"a.".repeat(n / 2)}a:b`],
  ["colons", (n) => `a:${":".repeat(n)}`],
  ["stars", (n) => "*".repeat(n)],
  ["spaces", (n) => `a${" ".repeat(n)}`],
  ["alternatives", (n) => `a${" OR a".repeat(n / 5)}`],
  ["a long list", (n) => list(n / 2)],
  ["unclosed lists", (n) => "a:IN(".repeat(n / 5)],
  ["brackets", (n) => "a:[".repeat(n / 3)],
  ["ranges", (n) => "a:[1 TO 2] ".repeat(n / 11)],
];

describe("time", () => {
  test.each(PATHOLOGICAL)("10 KB of %s take at most 20 ms without limits", (_name, make) => {
    const text = make(10_000);
    const run = () =>
      cpuTime(() => {
        try {
          printQuery(parseQuery(text, UNLIMITED));
        } catch (error) {
          expect(error).toMatchObject({ name: "QuerySyntaxError" });
        }
      });
    expect(measureUntilBelow(20, run)).toBeLessThan(20);
  });

  test.each(PATHOLOGICAL)(
    "four times as much of %s takes about four times as long",
    (_name, make) => {
      const [some = "", more = ""] = [20_000, 80_000].map(make);
      const time = (text: string) =>
        cpuTime(() => {
          try {
            parseQuery(text, UNLIMITED);
          } catch (error) {
            expect(error).toMatchObject({ name: "QuerySyntaxError" });
          }
        });
      // Times below a millisecond are noise. A quadratic parser would take sixteen times as long each time.
      expect(measureUntilBelow(9, () => time(more) / Math.max(time(some), 1))).toBeLessThan(9);
    },
  );

  const column: SearchField = {
    kind: "text",
    list: false,
    type: sql`text`,
    word: true,
    inputType: () => GraphQLString,
    read: (row) => sql`${row}.x`,
  };
  /** Long, similar names, which must be compared letter by letter. */
  const wide: SearchTable = {
    name: "wide",
    from: sql`wide`,
    fields: new Map(
      Array.from({ length: 300 }, (_value, index) => [`${"abcdefgh".repeat(6)}${index}`, column]),
    ),
    relations: new Map([["self", { table: () => wide, many: true, join: () => sql`true` }]]),
    filters: new Map(),
  };
  const [name = ""] = wide.fields.keys();

  test.each([
    ["a name that there is none of", `${"abcdefgh".repeat(6)}:x`],
    ["a name that fills the query", `${"a".repeat(3990)}:x`],
    ["a path that fills the query", `${"self.".repeat(790)}x:y`],
    [
      "as many terms as can be",
      Array.from({ length: 70 }, () => `${name}:x`)
        .join(" ")
        .slice(0, 3990),
    ],
    ["as many values as can be", `${name}:IN(${Array.from({ length: 950 }, () => "x").join(",")})`],
    [
      "as many related rows as can be",
      Array.from({ length: 60 }, () => `self.self.self.${name}:x`)
        .join(" ")
        .slice(0, 3900),
    ],
    ["groups in groups", `${"self:(".repeat(19)}x:y${")".repeat(19)}`],
  ])("%s is compiled or rejected within 20 ms", (_what, query) => {
    const run = () =>
      cpuTime(() => {
        try {
          sql.compile(compileQuery(parseQuery(query), wide, () => new Date())(sql.identifier("w")));
        } catch (error) {
          expect(error).toMatchObject({ name: "QuerySyntaxError" });
        }
      });
    expect(measureUntilBelow(20, run)).toBeLessThan(20);
  });

  test("200 KB of maximum nesting neither exhaust the stack nor take long", () => {
    const ms = cpuTime(() => {
      expect(parseQuery(nested(100_000), UNLIMITED)).toMatchObject({ kind: "word" });
    });
    expect(ms).toBeLessThan(1000);
  });
});
