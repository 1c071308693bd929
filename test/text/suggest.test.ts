import { describe, expect, test } from "@jest/globals";
import { cpuTime, measureUntilBelow } from "../helpers/cpuTime.ts";
import { didYouMean, nearest } from "../../src/text/suggest.ts";

const FIELDS = ["name", "vintage", "price", "points", "wineType.name", "createdAt", "country"];

describe("nearest", () => {
  test.each([
    ["NAME", ["name", "wineType.name"]],
    ["createdat", ["createdAt"]],
    ["vint", ["vintage"]],
    ["p", ["price", "points"]],
    ["naem", ["name"]],
    ["contry", ["country"]],
    ["wineType.nmae", ["wineType.name"]],
    ["poinst", ["points"]],
    ["zzzzzz", []],
    ["", []],
    ["__proto__", []],
  ])("%j suggests %j", (name, expected) => {
    expect(nearest(name, FIELDS)).toEqual(expected);
  });

  test("ranks case-insensitive equality before a prefix before an edit", () => {
    expect(nearest("Color", ["colors", "colour", "color"])).toEqual(["color", "colors", "colour"]);
  });

  test("returns at most the requested number", () => {
    expect(nearest("c", ["ca", "cb", "cc", "cd"])).toEqual(["ca", "cb", "cc"]);
    expect(nearest("c", ["ca", "cb"], 1)).toEqual(["ca"]);
    expect(nearest("c", ["ca", "cb"], 0)).toEqual([]);
  });

  test("takes bounded time for long names among a thousand", () => {
    const known = Array.from({ length: 1000 }, (_, index) => `field_${index}_${"x".repeat(50)}`);
    nearest("field_x", known);
    const time = () =>
      cpuTime(() => {
        expect(nearest("f".repeat(100_000), known)).toEqual([]);
      });
    expect(measureUntilBelow(50, time)).toBeLessThan(50);
  });
});

describe("didYouMean", () => {
  test("builds a hint for one, several or no names", () => {
    expect(didYouMean("contry", FIELDS)).toBe(" (did you mean `country`?)");
    expect(didYouMean("p", FIELDS)).toBe(" (did you mean `price` or `points`?)");
    expect(didYouMean("zzzzzz", FIELDS)).toBe("");
  });
});
