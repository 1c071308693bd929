import { describe, expect, test } from "@jest/globals";
import type { FormulaPlace } from "../../../src/xlsx/template/formulas.ts";
import { joinFormula, moveFormula, splitFormula } from "../../../src/xlsx/template/formulas.ts";

/** Row 5 of the sheet appears four times. */
const one = { sheet: "Wines", first: 5, last: 5, delta: 3 };
/** Rows 5 and 6 appear three times. */
const two = { sheet: "Wines", first: 5, last: 6, delta: 4 };
const elsewhere: FormulaPlace = { sheet: "Wines", cell: { row: 20, column: 8 }, use: "fixed" };

describe("a formula outside of the repeated rows", () => {
  test.each([
    ["B4", "B4"],
    ["B6", "B9"],
    ["$B$6", "$B$9"],
    ["SUM(B5:B5)", "SUM(B5:B8)"],
    ["SUM($B$5:$B$5)", "SUM($B$5:$B$8)"],
    ["SUM(B5)", "SUM(B5:B8)"],
    ["SUM(A1, B5 )", "SUM(A1, B5:B8 )"],
    ["SUBTOTAL(9,B5)", "SUBTOTAL(9,B5:B8)"],
    ["ROUND(B5,2)", "ROUND(B5,2)"],
    ["SUM(ROUND(B5,2))", "SUM(ROUND(B5,2))"],
    ["SUM(B5*2)", "SUM(B5*2)"],
    ["SUM((B5))", "SUM((B5))"],
    ["B5", "B5"],
    ["SUM(B2:B9)", "SUM(B2:B12)"],
    ["SUM(B2:B5)", "SUM(B2:B8)"],
    ["SUM(B5:B9)", "SUM(B5:B12)"],
    ["SUM(B6:B9)", "SUM(B9:B12)"],
    ["SUM(B1:B4)", "SUM(B1:B4)"],
    ["SUM(B:B)+SUM(5:5)+SUM(6:7)", "SUM(B:B)+SUM(5:8)+SUM(9:10)"],
    ["SUM(B5:B1048576)", "SUM(B5:B1048576)"],
    ["Wines!B6+'wines'!B6+Other!B6", "Wines!B9+'wines'!B9+Other!B6"],
    ['"B6"&B6', '"B6"&B9'],
    ["LOG10(B6)", "LOG10(B9)"],
    ["Table1[Price]+Table1[[#This Row],[Stock]]", "Table1[Price]+Table1[[#This Row],[Stock]]"],
    ["B6#", "B9#"],
    ["@B6", "@B9"],
    ["{1,2;3,4}", "{1,2;3,4}"],
    ["INDEX(B5:C5,1,2)", "INDEX(B5:C8,1,2)"],
    ["_xlfn.XLOOKUP(A9,$A$5:$A$5,$B$5:$B$5)", "_xlfn.XLOOKUP(A12,$A$5:$A$8,$B$5:$B$8)"],
    ['INDIRECT("B6")', 'INDIRECT("B6")'],
    ["LET(x,B6,x+1)", "LET(x,B9,x+1)"],
    ["#REF!+1", "#REF!+1"],
  ])("%s becomes %s", (formula, expected) => {
    const { formula: moved, problems } = moveFormula(formula, elsewhere, one);
    expect({ moved, problems }).toEqual({ moved: expected, problems: [] });
  });

  test("on another sheet moves only references with the sheet's name", () => {
    const place: FormulaPlace = { sheet: "Other", cell: { row: 6, column: 1 }, use: "fixed" };
    expect(moveFormula("B6+Wines!B6+SUM(Wines!B5:B5)", place, one).formula).toBe(
      "B6+Wines!B9+SUM(Wines!B5:B8)",
    );
    expect(moveFormula("'It''s'!B6+B6", place, { ...one, sheet: "It's" }).formula).toBe(
      "'It''s'!B9+B6",
    );
  });

  test("reports references that cannot follow", () => {
    const problemsOf = (formula: string) => moveFormula(formula, elsewhere, two).problems;
    expect(problemsOf("SUM(B5:B5)")).toEqual([
      "B5:B5 contains some of the repeated rows but not all",
    ]);
    expect(problemsOf("SUM(B6:B9)")).toEqual([
      "B6:B9 contains some of the repeated rows but not all",
    ]);
    expect(problemsOf("SUM(B5)")).toEqual([
      "B5 refers to one of several repeated rows: refer to all of them",
    ]);
    expect(problemsOf("SUM(Wines:Other!B5)")).toEqual([
      "Wines:Other!B5 refers to several sheets, whose rows move differently",
    ]);
    expect(problemsOf("SUM(B5:B6)+B6+B7")).toEqual([]);
  });

  test.each([
    'WEBSERVICE("http://x/"&A1)',
    "_xlfn.WEBSERVICE(A1)",
    "RTD(A1,,B1)",
    '_xlfn.IMAGE("http://x")',
    "CUBEVALUE(A1)",
    "cmd|'/c calc'!A0",
    "[1]Sheet1!A1",
    "'[Book.xlsx]Sheet 1'!A1",
  ])("with the external reference %s is rejected", (formula) => {
    expect(moveFormula(formula, elsewhere, null).problems[0]).toContain(
      "refers outside of the workbook",
    );
  });
});

describe("a formula in the repeated rows", () => {
  const copies = (formula: string, move = one, row = 5) => {
    const opened = splitFormula(
      formula,
      { sheet: "Wines", cell: { row, column: 5 }, use: "copied" },
      move,
    );
    const height = move.last - move.first + 1;
    return opened.problems.length > 0
      ? opened.problems
      : [0, 1, 2].map((index) =>
          joinFormula(opened.parts, height, index, (at) => String(at + move.delta)),
        );
  };

  test.each([
    ["its own row", "B5*C5", ["B5*C5", "B6*C6", "B7*C7"]],
    ["a cell above, with or without $", "B5*D2+$D$2", ["B5*D2+$D$2", "B6*D2+$D$2", "B7*D2+$D$2"]],
    ["a cell below", "B5/E6", ["B5/E9", "B6/E9", "B7/E9"]],
    [
      "all records, with $",
      "B5/SUM(B$5:B$5)",
      ["B5/SUM(B$5:B$8)", "B6/SUM(B$5:B$8)", "B7/SUM(B$5:B$8)"],
    ],
    ["the records so far", "SUM(B$5:B5)", ["SUM(B$5:B5)", "SUM(B$5:B6)", "SUM(B$5:B7)"]],
    ["the following records", "SUM(B5:B$5)", ["SUM(B5:B$5)", "SUM(B6:B$5)", "SUM(B7:B$5)"]],
    ["the same cell of the record before", "N(E4)+B5", ["N(E4)+B5", "N(E5)+B6", "N(E6)+B7"]],
    ["several cells of its row", "SUM(B5:D5)", ["SUM(B5:D5)", "SUM(B6:D6)", "SUM(B7:D7)"]],
    [
      "another sheet",
      "VLOOKUP(A5,Other!A5:B9,2)",
      ["VLOOKUP(A5,Other!A5:B9,2)", "VLOOKUP(A6,Other!A5:B9,2)", "VLOOKUP(A7,Other!A5:B9,2)"],
    ],
    ["its row up to the total", "SUM(B5:B6)", ["SUM(B5:B9)", "SUM(B6:B9)", "SUM(B7:B9)"]],
  ])("with %s", (_name, formula, expected) => {
    expect(copies(formula)).toEqual(expected);
  });

  test("of two rows that repeat together refers to its own record", () => {
    expect(copies("B5+B6", two, 6)).toEqual(["B5+B6", "B7+B8", "B9+B10"]);
    expect(copies("SUM(B$5:B$6)", two)).toEqual([
      "SUM(B$5:B$10)",
      "SUM(B$5:B$10)",
      "SUM(B$5:B$10)",
    ]);
    expect(copies("SUM(B$5:B$5)", two)).toEqual([
      "B$5:B$5 contains some of the repeated rows but not all",
    ]);
    expect(copies("N(E4)+B6", two, 6)).toEqual(["N(E4)+B6", "N(E6)+B8", "N(E8)+B10"]);
  });
});

test("a format's formula may refer to its own row and, with $, to any other", () => {
  const place: FormulaPlace = { sheet: "Wines", cell: { row: 5, column: 1 }, use: "spread" };
  expect(moveFormula("$B5>$D$9", place, one)).toMatchObject({ formula: "$B5>$D$12", problems: [] });
  expect(moveFormula("$B5>$D9", place, one).problems).toEqual([
    "$D9 has a row that would differ from record to record: write it with $",
  ]);
});

test("a chart's single cell is a range of one", () => {
  expect(moveFormula("Wines!$B$5", { sheet: "", cell: null, use: "series" }, one).formula).toBe(
    "Wines!$B$5:$B$8",
  );
  expect(moveFormula("Wines!$B$4", { sheet: "", cell: null, use: "series" }, one).formula).toBe(
    "Wines!$B$4",
  );
});
