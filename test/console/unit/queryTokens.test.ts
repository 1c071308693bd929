import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  placeAt,
  quoteValue,
  suggestedName,
  tokenize,
} from "../../../admin/src/meta/queryTokens.ts";

describe("the tokens of a query", () => {
  test("are fields, signs, values and words", () => {
    expect(tokenize('country:Italy vintage:>=2015 -wineType.name:"Rosé" barolo*')).toEqual([
      { kind: "field", text: "country", from: 0 },
      { kind: "colon", text: ":", from: 7 },
      { kind: "value", text: "Italy", from: 8 },
      { kind: "field", text: "vintage", from: 14 },
      { kind: "colon", text: ":>=", from: 21 },
      { kind: "value", text: "2015", from: 24 },
      { kind: "word", text: "-wineType.name", from: 29 },
      { kind: "colon", text: ":", from: 43 },
      { kind: "string", text: '"Rosé"', from: 44 },
      { kind: "word", text: "barolo*", from: 51 },
    ]);
  });

  test("contain every character except spaces, at its position", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const tokens = tokenize(text);
        for (const { text: piece, from } of tokens)
          expect(text.slice(from, from + piece.length)).toBe(piece);
        expect(tokens.map(({ text: piece }) => piece.replaceAll(/\s/g, "")).join("")).toBe(
          text.replaceAll(/\s/g, ""),
        );
      }),
    );
  });
});

describe("the position of the cursor", () => {
  test("is in a field or in its value", () => {
    expect(placeAt("cou", 3)).toEqual({ kind: "field", from: 0, text: "cou" });
    expect(placeAt("a -wineTy", 9)).toEqual({ kind: "field", from: 3, text: "wineTy" });
    expect(placeAt("wineType.name:Re", 16)).toEqual({
      kind: "value",
      field: "wineType.name",
      from: 14,
      text: "Re",
    });
    expect(placeAt('name:"Ba', 8)).toEqual({ kind: "value", field: "name", from: 5, text: "Ba" });
  });
});

test("a value with spaces or signs is quoted", () => {
  expect(["Red", "Gavi di Gavi", 'a"b', "2015-01-01", "OR", "today", "-5"].map(quoteValue)).toEqual(
    ["Red", '"Gavi di Gavi"', '"a\\"b"', "2015-01-01", '"OR"', '"today"', '"-5"'],
  );
});

test("the suggested name is read from the service's message", () => {
  expect(suggestedName("`vintgae` is no field (did you mean `vintage`?)")).toBe("vintage");
  expect(suggestedName("The query is too long")).toBeNull();
});
