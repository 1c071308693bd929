import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { diffWords } from "../../../admin/src/generic/history/diffWords.ts";
import { propertyRuns } from "../../helpers/propertyRuns.ts";

const text = fc
  .array(fc.constantFrom("red", "wine", "of", "Piemonte", " ", "\n", ",", "é", "🍷"), {
    maxLength: 40,
  })
  .map((words) => words.join(""));

describe("the word differences of two texts", () => {
  test("contain both texts completely", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const pieces = diffWords(before, after);
        const without = (left: "added" | "removed") =>
          pieces
            .filter(({ kind }) => kind !== left)
            .map((piece) => piece.text)
            .join("");
        expect(without("added")).toBe(before);
        expect(without("removed")).toBe(after);
      }),
      propertyRuns(300),
    );
  });

  test("keep unchanged words", () => {
    expect(diffWords("a red wine", "a white wine")).toEqual([
      { kind: "same", text: "a " },
      { kind: "removed", text: "red" },
      { kind: "added", text: "white" },
      { kind: "same", text: " wine" },
    ]);
  });

  test("show texts with little in common one after the other, in bounded time", () => {
    const long = (word: string) =>
      Array.from({ length: 20_000 }, (_, index) => `${word}${index}`).join(" ");
    expect(diffWords(long("a"), long("b")).map(({ kind }) => kind)).toEqual(["removed", "added"]);
  });
});
