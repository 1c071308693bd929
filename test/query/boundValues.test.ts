import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { PublicError } from "../../src/errors/PublicError.ts";
import { parseBoundQuery } from "../../src/query/boundValues.ts";
import { parseQuery } from "../../src/query/parse.ts";

const quoted = (text: string) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
/** A tree without positions, which differ for literal values. */
const shape = (node: unknown) =>
  JSON.parse(
    JSON.stringify(node, (key, value: unknown) =>
      key === "position" || key === "end" ? undefined : value,
    ),
  ) as unknown;

function failure(text: string, values: unknown): { message: string; path?: unknown } {
  try {
    parseBoundQuery(text, values);
  } catch (error) {
    const { message } = error as Error;
    return error instanceof PublicError ? { message, path: error.details.path } : { message };
  }
  throw new Error(`${text} is not refused`);
}

describe("bound values", () => {
  test.each([
    ["name:$n", { n: 'a "b" (c) OR d*' }, 'name:"a \\"b\\" (c) OR d*"'],
    ["$word -$other", { word: "two words", other: "x" }, '"two words" -"x"'],
    ["name:$n*", { n: "Bar (" }, 'name:"Bar ("*'],
    ["vintage:>=$from", { from: 2015 }, 'vintage:>="2015"'],
    ["vintage:[$from TO $to]", { from: 2015, to: -1 }, 'vintage:["2015" TO "-1"]'],
    ["isActive:$on", { on: true }, 'isActive:"true"'],
    ["country:IN($list, DK)", { list: ["FR", "I T"] }, 'country:IN("FR", "I T", DK)'],
    ["name:($a OR $b)", { a: "x", b: "y" }, 'name:("x" OR "y")'],
    ["ratings:(points:$p year:2020)", { p: 90 }, 'ratings:(points:"90" year:2020)'],
    ["NOT name:$n", { n: "$n" }, 'NOT name:"$n"'],
  ])("%s with %j is %s", (text, values, written) => {
    expect(shape(parseBoundQuery(text, values))).toEqual(shape(parseQuery(written)));
  });

  test("of two lists are accepted up to 1000 values together", () => {
    const list = Array<string>(500).fill("a");
    expect(parseBoundQuery("name:IN($n) OR country:IN($n)", { n: list })).toBeDefined();
    expect(failure("name:IN($n) OR country:IN($n)", { n: [...list, "b"] }).message).toMatch(
      /all lists of `IN` in a query have at most 1000 values together at position 16$/,
    );
  });

  test("are counted wherever the query refers to them", () => {
    expect(failure("name:$n OR country:$n", { n: "x".repeat(25_001) }).message).toMatch(
      /have at most 50000 characters, counted wherever the query refers to them at position 20$/,
    );
  });

  test("do not replace quoted, escaped or unnamed text", () => {
    for (const text of ['name:"$n"', "name:\\$n", "price:$100", "a$n"])
      expect(parseBoundQuery(text, null)).toEqual(parseQuery(text));
  });

  test("accept any characters", () => {
    const text = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 60 })
      .filter((value) => value.trim() !== "" && !/[[\p{Cc}\p{Cs}]--[\t\n\r]]/v.test(value));
    fc.assert(
      fc.property(text, (value) => {
        expect(shape(parseBoundQuery("name:$n or:$n", { n: value }))).toEqual(
          shape(parseQuery(`name:${quoted(value)} or:${quoted(value)}`)),
        );
      }),
    );
  });

  test.each([
    [
      "name:$nmae",
      { name: "x" },
      /`\$nmae` has no value in queryValues \(did you mean `name`\?\).* at position 6$/,
    ],
    [
      "name:$n",
      null,
      /`\$n` has no value in queryValues; quote it to search for it at position 6$/,
    ],
    [
      "name:$list",
      { list: ["a"] },
      /`\$list` is a list, which stands only in `field:IN\(\$list\)`/,
    ],
    ["name:$n*", { n: " " }, /has no text before it/],
    ["$n", { n: "" }, /the bound text is empty/],
  ])("%s with %j is rejected at its position", (text, values, message) => {
    expect(failure(text, values).message).toMatch(message);
  });

  test.each([
    [{ n: "x", m: "y" }, /`\$m` does not stand in the query/, ["queryValues", "m"]],
    [{ n: null }, /must be a text, a number/, ["queryValues", "n"]],
    [{ n: { a: 1 } }, /must be a text, a number/, ["queryValues", "n"]],
    [{ n: "a\u0000" }, /U\+0000 is not allowed/, ["queryValues", "n"]],
    [{ n: [] }, /a list has 1 to 1000 values/, ["queryValues", "n"]],
    [{ n: Array(1001).fill("a") }, /a list has 1 to 1000 values/, ["queryValues", "n"]],
    [{ n: "x".repeat(50_000) }, /at most 50000 characters/, ["queryValues"]],
    [["x"], /must be an object/, ["queryValues"]],
    ["x", /must be an object/, ["queryValues"]],
  ])("values %# are rejected by name", (values, message, path) => {
    const found = failure("name:$n", values);
    expect(found.message).toMatch(message);
    expect(found.path).toEqual(path);
  });
});
