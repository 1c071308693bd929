import { describe, expect, test } from "@jest/globals";
import { parseQuery } from "../../src/query/parse.ts";
import { refusal } from "../helpers/query/refusals.ts";

describe("an invalid query is rejected at the right position", () => {
  test.each([
    ["", 0, 0, "empty query"],
    [" \t\u3000", 0, 3, "empty query"],
    ["AND a", 0, 3, "`AND` has nothing before it"],
    ["(OR a)", 1, 2, "`OR` has nothing before it"],
    ["a AND", 2, 3, "`AND` has nothing after it"],
    ["(a OR ) b", 3, 2, "`OR` has nothing after it"],
    ["a NOT", 2, 3, "`NOT` has nothing after it"],
    ["a AND AND b", 6, 3, "`AND` stands directly after `AND`"],
    ["a OR AND b", 5, 3, "`AND` stands directly after `OR`"],
    ["NOT OR b", 4, 2, "`OR` stands directly after `NOT`"],
    ["-AND b", 1, 3, "`AND` stands directly after `-`"],
    ["NOT NOT a", 4, 3, "`NOT` repeats the `NOT` before it"],
    ["--a", 1, 1, "`-` repeats the `-` before it"],
    ["NOT -a", 4, 1, "`-` repeats the `NOT` before it"],
    ["-", 0, 1, "a lone `-` (it stands directly before what it excludes)"],
    ["a - b", 2, 1, "a lone `-` (it stands directly before what it excludes)"],
    ["(a -)", 3, 1, "a lone `-` (it stands directly before what it excludes)"],
    ["a (b (c)", 2, 1, "the parenthesis is never closed"],
    ["name:(a", 5, 1, "the parenthesis is never closed"],
    ["(a))", 3, 1, "`)` closes nothing"],
    ["a ( )", 2, 3, "the parentheses are empty"],
    ["a name:()", 2, 7, "the parentheses are empty"],
    ["a(b)", 1, 1, "a space is missing"],
    ["name:a(b)", 6, 1, "a space is missing"],
    ['"a""b"', 3, 1, "a space is missing"],
    ['"a"*b', 4, 1, "a space is missing"],
    ["name:IN(a)b", 10, 1, "a space is missing"],
    ['a "b', 2, 1, "the quote is never closed"],
    ['"b\\"', 0, 1, "the quote is never closed"],
    ['"b\\', 0, 1, "the quote is never closed"],
    ['name:IN("a', 8, 1, "the quote is never closed"],
    ['a ""', 2, 2, "the phrase is empty"],
    ['" \n"*', 0, 4, "the phrase is empty"],
    ["a name:", 2, 5, "`name:` has no value directly after it"],
    ["name: a", 0, 5, "`name:` has no value directly after it"],
    ["(name:)", 1, 5, "`name:` has no value directly after it"],
    ["name:>= 1", 5, 2, "`>=` has no value after it"],
    ["name:>10*", 8, 1, "`*` is not allowed here (quote the value)"],
    ["name:IN(a*)", 9, 1, "`*` is not allowed here (quote the value)"],
    ["name:[a* TO b]", 7, 1, "`*` is not allowed here (quote the value)"],
    ["*", 0, 1, "`*` has no word before it"],
    ['name:""*', 5, 3, "`*` has no text before it"],
    ["name:\\ *", 5, 3, "`*` has no text before it"],
    ["*a", 0, 1, "`*` stands only at the end of a word (quote the word or write `\\*`)"],
    ["a*b", 1, 1, "`*` stands only at the end of a word (quote the word or write `\\*`)"],
    ["name:a**", 6, 1, "`*` stands only at the end of a word (quote the word or write `\\*`)"],
    ["name:IN( )", 5, 5, "`IN()` has no values"],
    ["name:IN(a", 7, 1, "the list of `IN` is never closed"],
    ["name:IN(a,", 7, 1, "the list of `IN` is never closed"],
    ["name:IN(a b)", 10, 1, "a comma is missing in the list of `IN`"],
    ["name:IN(,a)", 8, 1, "a value is missing in the list of `IN`"],
    ["name:IN(a,)", 10, 1, "a value is missing in the list of `IN`"],
    ["name:IN (a)", 5, 2, "`IN` is a keyword (quote it to use it as a value)"],
    ["name:IN(OR)", 8, 2, "`OR` is a keyword (quote it to use it as a value)"],
    ["name:[TO TO b]", 6, 2, "`TO` is a keyword (quote it to use it as a value)"],
    ["a IN (b)", 2, 2, "`IN` stands only in `field:IN(a, b)` (quote it to search for it)"],
    ["1 TO 2", 2, 2, "`TO` stands only in `field:[a TO b]` (quote it to search for it)"],
    ["name:=1", 5, 1, "`=` is not an operator (equality is written `field:value`)"],
    ["name:<>1", 6, 1, "a bare value does not start with `>` (quote the value)"],
    ["name:[1 2]", 8, 1, "`TO` is missing (a range is written `[a TO b]`)"],
    ['name:["1"TO 2]', 9, 1, "`TO` is missing (a range is written `[a TO b]`)"],
    ["name:[ TO 2]", 7, 2, "`TO` is a keyword (quote it to use it as a value)"],
    ["name:[1 TO ]", 11, 1, "a value is missing in the range"],
    ["name:[", 5, 1, "the range is never closed"],
    ["name:[1", 5, 1, "the range is never closed"],
    ["name:[1 TO", 5, 1, "the range is never closed"],
    ["name:[1 TO 2", 5, 1, "the range is never closed"],
    ["name:[1 TO 2)", 12, 1, "a range ends with `]` or `}` after its second value"],
    ["12:30", 0, 2, "`12` is not a field name (quote the text to search for it)"],
    ["x é.b:a", 2, 3, "`é.b` is not a field name (quote the text to search for it)"],
    ['"a b":c', 0, 5, '`"a b"` is not a field name (quote the text to search for it)'],
    ["a :b", 2, 1, "the field name before `:` is missing"],
    ["name:(a OR b:c)", 11, 2, "`b:` names a field within a group of values"],
    ["a]", 1, 1, "`]` is not allowed in a bare word (quote the word or put a backslash before it)"],
    [
      'name:a"b',
      6,
      1,
      '`"` is not allowed in a bare word (quote the word or put a backslash before it)',
    ],
    ["a\\n", 1, 2, "a backslash stands only before a space or an ASCII punctuation mark"],
    ["a\\", 1, 1, "a backslash stands only before a space or an ASCII punctuation mark"],
    ['"\\n"', 1, 2, 'within quotes a backslash stands only before `"` or another backslash'],
    ["a\u0000", 1, 1, "the character U+0000 is not allowed"],
    ['"\u0007"', 1, 1, "the character U+0007 is not allowed"],
    ["a \u0085", 2, 1, "the character U+0085 is not allowed"],
    ["a\ud83d b", 1, 1, "the character U+D83D is not allowed"],
    ["\ude00", 0, 1, "the character U+DE00 is not allowed"],
    ["a:(b:c d)", 7, 1, "a field is missing (in the group of `a` each term names one)"],
    ["a:(b:c >5)", 7, 1, "a field is missing (in the group of `a` each term names one)"],
    [
      "a:((b:c) OR x:(y) -(z))",
      20,
      1,
      "a field is missing (in the group of `a` each term names one)",
    ],
    ["a:(b:c IN(1))", 7, 2, "`IN` stands only in `field:IN(a, b)` (quote it to search for it)"],
    ["a:(b:(c d:e))", 8, 2, "`d:` names a field within a group of values"],
  ])("%j at %i", (text, position, length, reason) => {
    const error = refusal(() => parseQuery(text));
    expect(error).toMatchObject({ name: "QuerySyntaxError", reason, position, length });
    expect(error.message).toBe(`query: ${reason} at position ${position + 1}`);
  });

  test("a comparison without a field has an example", () => {
    expect(refusal(() => parseQuery("a points>90"))).toMatchObject({
      position: 8,
      reason: "`>` stands only after a field and a colon, as in `points:>=90` (or quote the text)",
    });
  });

  test("a range open at both ends suggests the operator for set fields", () => {
    expect(refusal(() => parseQuery("name:[* TO *]"))).toMatchObject({
      position: 5,
      length: 8,
      reason: "a range needs a value at one end at least (`field:*` asks whether a field is set)",
    });
  });

  test("a negative number in a group is not parsed as an exclusion", () => {
    expect(refusal(() => parseQuery("price:(-5 OR 3)"))).toMatchObject({
      position: 7,
      reason: "in a group a negative number is quoted, and an exclusion written with `NOT`",
    });
  });

  test("a long excerpt is truncated between characters", () => {
    const { message } = refusal(() => parseQuery(`${"😀".repeat(500)}:a`));
    expect(message.length).toBeLessThan(150);
    expect(message.isWellFormed()).toBe(true);
  });
});
