import { describe, expect } from "@jest/globals";
import { writeTable } from "../../src/xlsx/writeTable.ts";
import { collect, never, streamOf } from "../helpers/xlsx/collect.ts";
import { openedByLibreOffice, testWithLibreOffice } from "../helpers/libreOffice.ts";
import { WINES, fillWithRecords, fixture } from "../helpers/xlsx/template/wineFields.ts";

describe("LibreOffice opens", () => {
  testWithLibreOffice("a table, continued on a second sheet, with every kind of cell", async () => {
    const { output, bytes } = collect();
    await writeTable({
      sheetName: "Wines & more",
      rowsPerSheet: 3,
      columns: [
        { title: "Number", kind: "text" },
        { title: "Price", kind: "decimal", numberFormat: '#,##0.00 "kr"' },
        { title: "Since", kind: "date" },
        { title: "Changed", kind: "datetime" },
        { title: "Organic", kind: "boolean" },
        { title: "Page", kind: "url" },
      ],
      rows: streamOf([
        [
          "007",
          "1234.5",
          "1900-03-01",
          new Date("9999-12-31T23:59:58Z"),
          true,
          "https://example.com/ø",
        ],
        ["=1+1", "1e-3", "2024-02-29", new Date("2026-01-31T12:34:56Z"), false, null],
        ["a\u0001_x0041_ 🍷\nb", "12345678901234567", "0001-01-01", null, null, null],
      ]),
      output,
      signal: never(),
    });
    const titles = ["Number", "Price", "Since", "Changed", "Organic", "Page"];
    expect(Object.fromEntries(await openedByLibreOffice(bytes()))).toEqual({
      "Wines & more": [
        titles,
        ["007", "1234.5", "1900-03-01", "9999-12-31 23:59:58", "TRUE", "https://example.com/ø"],
        ["=1+1", "0.001", "2024-02-29", "2026-01-31 12:34:56", "FALSE", ""],
      ],
      "Wines & more (2)": [
        titles,
        ["a\u0001_x0041_ 🍷\nb", "12345678901234567", "0001-01-01", "", "", ""],
      ],
    });
  });

  testWithLibreOffice(
    "a filled price list and computes its formulas over all records",
    async () => {
      const { bytes } = await fillWithRecords(await fixture("priceList"), "TABLE", WINES);
      const sheets = await openedByLibreOffice(bytes);
      const list = sheets.get("Price list")!;
      expect(list[1]!.slice(0, 4)).toEqual(["Bottles in all", "100", "VAT", "0.25"]);
      expect(list.slice(4, 9)).toEqual([
        [
          "001",
          "Château 1 (2001)",
          "100.5",
          "10",
          "1256.25",
          "3.34442595673877%",
          "10",
          "2020-01-01",
          "",
        ],
        [
          "002",
          "=1+1 <b> (2002)",
          "200.5",
          "20",
          "5012.5",
          "13.3444259567388%",
          "30",
          "2020-01-02",
          "",
        ],
        ["003", "Château 3 (2003)", "300.5", "30", "11268.75", "30%", "60", "2020-01-03", ""],
        [
          "004",
          "Château 4 (2004)",
          "400.5",
          "40",
          "20025",
          "53.3111480865225%",
          "100",
          "2020-01-04",
          "",
        ],
        ["Total", "", "", "100", "37562.5", "250.5", "", "", ""],
      ]);
      expect(list[10]!.slice(0, 3)).toEqual(["Dearest", "", "400.5"]);
      expect(sheets.get("Summary")!.map((row) => row[1])).toEqual(["37562.5", "4", "2"]);
    },
  );

  testWithLibreOffice("cards of two rows each, and a form", async () => {
    const cards = await openedByLibreOffice(
      (await fillWithRecords(await fixture("twoRows"), "TABLE", WINES.slice(0, 2))).bytes,
    );
    expect(cards.get("Cards")!.map((row) => row[2])).toEqual([
      "",
      "100.5",
      "201",
      "200.5",
      "401",
      "903",
      "",
      "",
    ]);
    const form = await openedByLibreOffice(
      (await fillWithRecords(await fixture("tastingSheet"), "FORM", [WINES[2]!])).bytes,
    );
    expect(form.get("Tasting")![5]).toEqual(["With VAT", "375.625"]);
    expect(form.get("Notes")!.map((row) => row[0])).toEqual([
      "About Château 3: Fine\nand round",
      "Checked",
    ]);
  });
});
