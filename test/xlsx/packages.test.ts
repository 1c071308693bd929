import { describe, expect, test } from "@jest/globals";
import { writeTable } from "../../src/xlsx/writeTable.ts";
import { exportForm } from "../../src/exports/exportForm.ts";
import { collect, never, streamOf } from "../helpers/xlsx/collect.ts";
import { packageProblems } from "../helpers/xlsx/packageProblems.ts";
import {
  WINES,
  changeParts,
  fillWithRecords,
  fixture,
} from "../helpers/xlsx/template/wineFields.ts";

const sheet = "xl/worksheets/sheet1.xml";

describe("Excel would accept", () => {
  test("a table with every kind of cell, on two sheets", async () => {
    const { output, bytes } = collect();
    await writeTable({
      sheetName: "Wines & 'more'",
      rowsPerSheet: 3,
      columns: [
        { title: "=Number", kind: "text", width: 12.5 },
        { title: "Price", kind: "decimal", numberFormat: '#,##0.00 "kr"' },
        { title: "Since", kind: "date" },
        { title: "Changed", kind: "datetime" },
        { title: "Organic", kind: "boolean" },
        { title: "Page", kind: "url" },
        { title: "Stock", kind: "integer" },
      ],
      rows: streamOf([
        ["007", "1234.5", "1900-03-01", new Date(), true, "https://example.com/ø?a=1&b=2", 7],
        ["=1+1", "1e-3", "2024-02-29", null, false, "https://example.com/", -1n],
        ["a\u0001_x0041_ 🍷\nb", "12345678901234567", "0001-01-01", null, null, null, null],
        ["x".repeat(40_000), "NaN", "no date", null, null, "mailto:a@example.com", null],
      ]),
      output,
      signal: never(),
      properties: { title: "Wines <1>", creator: "A & B" },
    });
    expect(await packageProblems(bytes())).toEqual([]);
  });

  test("a table without rows", async () => {
    const { output, bytes } = collect();
    const columns = [{ title: "Name", kind: "text" } as const];
    await writeTable({ sheetName: "", columns, rows: streamOf([]), output, signal: never() });
    expect(await packageProblems(bytes())).toEqual([]);
  });

  test.each([0, 1, 4])("a filled price list of %d records", async (records) => {
    const book = await fixture("priceList");
    const { bytes } = await fillWithRecords(book, "TABLE", WINES.slice(0, records));
    expect(await packageProblems(bytes)).toEqual([]);
  });

  test("filled cards of two rows each, and filled forms", async () => {
    const cards = await fillWithRecords(await fixture("twoRows"), "TABLE", WINES);
    expect(await packageProblems(cards.bytes)).toEqual([]);
    const form = await fillWithRecords(await fixture("tastingSheet"), "FORM", [WINES[2]!]);
    expect(await packageProblems(form.bytes)).toEqual([]);
    const lines = await exportForm("Own <form>", [
      { field: "name", kind: "TEXT", title: "Wine", width: null, numberFormat: null },
      { field: "picture", kind: "IMAGE", title: "Picture", width: null, numberFormat: null },
      { field: "price", kind: "DECIMAL", title: "Price", width: 70, numberFormat: "0.00" },
      { field: "since", kind: "DATE", title: "Since", width: null, numberFormat: null },
    ]);
    expect(
      await packageProblems((await fillWithRecords(lines, "FORM", [WINES[0]!])).bytes),
    ).toEqual([]);
  });
});

test.each([
  ["<cols>", "<mergeCells/><cols>", /out of order/],
  ['<c r="B5"', '<c r="A5"', /A5 is out of order/],
  ['<row r="6"', '<row r="4"', /row 4 follows row 5/],
  [/s="\d+"( t="s")/, 's="999"$1', /no such style/],
  [/t="s"><v>\d+/, 't="s"><v>999', /no such shared string/],
  ['r:id="rId3"', 'r:id="rId33"', /rId33, which is not there/],
  ['<mergeCells count="2">', '<mergeCells count="3">', /counted wrongly/],
  ['"A10:C10"', '"A1:C10"', /merged ranges overlap/],
])("the check reports the damage when %s becomes %s", async (from, to, problem) => {
  const book = await changeParts(await fixture("priceList"), {
    [sheet]: (xml) => xml.replace(from, to),
  });
  expect((await packageProblems(book)).join("\n")).toMatch(problem);
});
