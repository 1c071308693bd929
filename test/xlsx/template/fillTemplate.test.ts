import { describe, expect, test } from "@jest/globals";
import { fillTemplate } from "../../../src/xlsx/template/fillTemplate.ts";
import type { TemplateRecord } from "../../../src/xlsx/template/filledCells.ts";
import { collect, streamOf } from "../../helpers/xlsx/collect.ts";
import { longestBusyShare } from "../../helpers/xlsx/longestBusyShare.ts";
import { readBook, readParts } from "../../helpers/xlsx/readers.ts";
import {
  FIELDS,
  WINES,
  changeParts,
  fillWithRecords,
  fixture,
  smallBook,
} from "../../helpers/xlsx/template/wineFields.ts";

/** The cells of a sheet as exceljs reads them; formulas as `=...`. */
async function cellsOf(bytes: Buffer, sheet: string, names: readonly string[]) {
  const found = (await readBook(bytes)).getWorksheet(sheet)!;
  return names.map((name) => {
    const cell = found.getCell(name);
    if (cell.formula) return `=${cell.formula}`;
    return typeof cell.value === "object" && !(cell.value instanceof Date) && cell.value
      ? cell.text
      : cell.value;
  });
}

/** The differences between two XML texts, split at tags. */
function changedPieces(before: string, after: string) {
  const split = (xml: string) => xml.split(/(?=<)/);
  const [old, now] = [new Set(split(before)), new Set(split(after))];
  return {
    gone: [...old].filter((piece) => !now.has(piece)),
    come: [...now].filter((piece) => !old.has(piece)),
  };
}

describe("a table made with LibreOffice, filled with four records", () => {
  const book = (async () =>
    (await fillWithRecords(await fixture("priceList"), "TABLE", WINES)).bytes)();

  test("has typed values in the template's format for each record", async () => {
    const bytes = await book;
    expect(
      await cellsOf(bytes, "Price list", ["A5", "C5", "D5", "H5", "A8", "C8", "D8", "H8"]),
    ).toEqual(["001", 100.5, 10, new Date("2020-01-01"), "004", 400.5, 40, new Date("2020-01-04")]);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    expect([5, 8].map((row) => sheet.getCell(row, 3).numFmt)).toEqual(
      ['#,##0.00" kr"', '#,##0.00" kr"'].map(() => sheet.getCell("C9").numFmt),
    );
    expect([5, 6, 7, 8].map((row) => sheet.getRow(row).height)).toEqual([51, 51, 51, 51]);
  });

  test("keeps formats within a text, even when they split a placeholder", async () => {
    const cell = (await readBook(await book)).worksheets[0]!.getCell("B6").value as {
      richText: { text: string; font: { bold?: boolean } }[];
    };
    expect(cell.richText.map(({ text, font }) => [text, font.bold === true])).toEqual([
      ["=1+1 <b>", true],
      [" (2002)", false],
    ]);
  });

  test("has correct formulas for all records", async () => {
    const bytes = await book;
    expect(await cellsOf(bytes, "Price list", ["B2", "E5", "E7", "F7", "G5", "G8"])).toEqual([
      "=SUM(D5:D8)",
      "=C5*D5*(1+D2)",
      "=C7*D7*(1+D2)",
      "=E7/E$9",
      "=SUM(D$5:D5)",
      "=SUM(D$5:D8)",
    ]);
    expect(
      await cellsOf(bytes, "Price list", ["A9", "D9", "E9", "F9", "C11", "E12", "A13"]),
    ).toEqual([
      "Total",
      "=SUM(D5:D8)",
      "=SUM(E5:E8)",
      "=AVERAGE(C5:C8)",
      "=MAX(C5:C8)",
      "=E9",
      "Merged below",
    ]);
    expect(await cellsOf(bytes, "Summary", ["B1", "B2", "B3"])).toEqual([
      "='Price list'!E9",
      "=COUNTA('Price list'!A5:A8)",
      "=1+1",
    ]);
  });

  test("moves names, print settings, formats, validations, merged cells, links, comments, pictures and the chart", async () => {
    const parts = await readParts(await book);
    const text = (name: string) => parts.get(name)!.toString();
    const sheet = text("xl/worksheets/sheet1.xml");
    expect(text("xl/workbook.xml")).toContain("'Price list'!$A$1:$I$35");
    for (const reference of ["$D$5:$D$8", "$E$9", "$D$2", "$4:$4"])
      expect(text("xl/workbook.xml").replaceAll("&apos;", "'")).toContain(
        `'Price list'!${reference}<`,
      );
    expect(sheet).toContain('<conditionalFormatting sqref="C5:C8">');
    expect(sheet).toContain('<conditionalFormatting sqref="E9">');
    expect(sheet).toContain('sqref="D5:D8" type="whole"');
    expect(sheet).toContain('sqref="B12" type="list"');
    expect(sheet).toContain('<mergeCell ref="A1:I1"/><mergeCell ref="A13:C13"/>');
    expect(sheet).toContain('<hyperlink ref="A12"');
    expect(text("xl/comments1.xml").match(/<comment ref="\w+"/g)).toEqual([
      '<comment ref="C4"',
      '<comment ref="E9"',
    ]);
    expect(text("xl/drawings/vmlDrawing1.vml").match(/<x:Row>\d+/g)).toEqual([
      "<x:Row>3",
      "<x:Row>8",
    ]);
    const rows = (xml: string) =>
      [...xml.matchAll(/<xdr:row>(\d+)/g)].map(([, row]) => Number(row));
    const before = rows(
      (await readParts(await fixture("priceList"))).get("xl/drawings/drawing1.xml")!.toString(),
    );
    // The logo above stays, the picture and chart below move by three rows, then follow the records' pictures.
    expect(rows(text("xl/drawings/drawing1.xml"))).toEqual([
      ...before.map((row) => (row < 5 ? row : row + 3)),
      4,
      5,
      6,
      7,
    ]);
    const chart = text([...parts.keys()].find((name) => name.startsWith("xl/charts/"))!);
    expect(
      [...chart.matchAll(/<c:f>(.*?)<\/c:f>/g)].map(([, formula]) =>
        formula!.replaceAll("&apos;", "'"),
      ),
    ).toEqual(["'Price list'!$D$4", "'Price list'!$B$5:$B$8", "'Price list'!$D$5:$D$8"]);
    expect(chart).not.toContain("{{");
  });

  test("keeps unchanged parts byte for byte, and in changed parts all other text", async () => {
    const before = await readParts(await fixture("priceList"));
    const after = await readParts(await book);
    const same = [...before]
      .filter(([name, bytes]) => after.get(name)?.equals(bytes))
      .map(([name]) => name);
    expect(same.sort()).toEqual([
      "[Content_Types].xml",
      "_rels/.rels",
      "docProps/app.xml",
      "docProps/core.xml",
      "xl/_rels/workbook.xml.rels",
      "xl/media/image1.png",
      "xl/sharedStrings.xml",
      "xl/worksheets/_rels/sheet1.xml.rels",
    ]);
    const piecesOf = (name: string) =>
      changedPieces(before.get(name)!.toString(), after.get(name)!.toString());
    expect(piecesOf("xl/comments1.xml")).toEqual({
      gone: ['<comment ref="E6" authorId="0">'],
      come: ['<comment ref="E9" authorId="0">'],
    });
    expect(piecesOf("xl/worksheets/sheet2.xml").come).toEqual(
      expect.arrayContaining(["<f aca=\"false\">'Price list'!E9"]),
    );
    const workbook = piecesOf("xl/workbook.xml");
    expect(workbook.gone.map((piece) => piece.slice(0, 12))).toEqual([
      ...Array<string>(3).fill("<definedName"),
      "<calcPr iter",
    ]);
    expect(workbook.come.at(-1)).toContain('fullCalcOnLoad="1"');
    // Only the format for text starting with `=` is new; the price keeps its own.
    expect(piecesOf("xl/styles.xml").gone.every((piece) => piece.startsWith("<cellXfs"))).toBe(
      true,
    );
  });

  test("contains no cached results of the template", async () => {
    const sheets = [...(await readParts(await book))].filter(([name]) =>
      name.startsWith("xl/worksheets/sheet"),
    );
    for (const [, xml] of sheets) expect(xml.toString()).not.toMatch(/<\/f><v>|t="e"/);
  });
});

describe("a table", () => {
  test("keeps its rows with one record and with none", async () => {
    const template = await fixture("priceList");
    const one = await fillWithRecords(template, "TABLE", WINES.slice(0, 1));
    expect(await cellsOf(one.bytes, "Price list", ["A5", "D6", "A6"])).toEqual([
      "001",
      "=SUM(D5:D5)",
      "Total",
    ]);
    const none = await fillWithRecords(template, "TABLE", []);
    expect(none.rows).toBe(0);
    expect(await cellsOf(none.bytes, "Price list", ["A5", "B5", "D6", "A6"])).toEqual([
      null,
      " ()",
      "=SUM(D5:D5)",
      "Total",
    ]);
  });

  test("repeats several rows together with their merged cells", async () => {
    const { bytes } = await fillWithRecords(await fixture("twoRows"), "TABLE", WINES.slice(0, 3));
    expect(
      await cellsOf(bytes, "Cards", [
        "A2",
        "C3",
        "D3",
        "A4",
        "C5",
        "D5",
        "A6",
        "C7",
        "A8",
        "C8",
        "A10",
      ]),
    ).toEqual([
      "Château 1",
      "=C2*2",
      "=SUM(C$2:C$7)",
      "=1+1 <b>",
      "=C4*2",
      "=SUM(C$2:C$7)",
      "Château 3",
      "=C6*2",
      "Sum",
      "=SUM(C2:C7)",
      "End",
    ]);
    expect((await readBook(bytes)).worksheets[0]!.model.merges).toEqual([
      "A3:B3",
      "A5:B5",
      "A7:B7",
    ]);
  });

  test("is filled with ten thousand records while it yields to the event loop", async () => {
    const template = await fixture("priceList");
    const records = Array.from({ length: 10_000 }, (_, index) => ({
      ...WINES[0],
      number: String(index).padStart(6, "0"),
    }));
    let bytes: Buffer = Buffer.alloc(0);
    const longest = await longestBusyShare(async () => {
      const result = await fillWithRecords(template, "TABLE", records);
      expect(result.rows).toBe(10_000);
      bytes = result.bytes;
    });
    expect(longest).toBeLessThan(0.3);
    expect(await cellsOf(bytes, "Price list", ["A10004", "D10005", "G10004", "E10008"])).toEqual([
      "009999",
      "=SUM(D5:D10004)",
      "=SUM(D$5:D10004)",
      "=E10005",
    ]);
    // One picture is used ten thousand times.
    expect(
      [...(await readParts(bytes)).keys()].filter((name) => name.startsWith("xl/media/filled")),
    ).toHaveLength(1);
  });
});

describe("a form made with LibreOffice", () => {
  test("is filled on all sheets, typed where a placeholder is alone, as text within text", async () => {
    const { bytes } = await fillWithRecords(await fixture("tastingSheet"), "FORM", [WINES[2]!]);
    expect(
      await cellsOf(bytes, "Tasting", ["A1", "B3", "B4", "B5", "B6", "B7", "B8", "B10"]),
    ).toEqual([
      "Tasting of Château 3",
      "003",
      2003,
      300.5,
      "=B5*1.25",
      new Date("2020-01-03"),
      false,
      92,
    ]);
    expect(await cellsOf(bytes, "Notes", ["A1", "B2"])).toEqual([
      "About Château 3: Fine\nand round",
      "=Tasting!B6",
    ]);
  });

  test("has its picture above the merged cells with its aspect ratio", async () => {
    const { bytes } = await fillWithRecords(await fixture("tastingSheet"), "FORM", [WINES[0]!]);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    const [image] = sheet.getImages();
    const { tl, ext } = image!.range as unknown as {
      tl: { nativeCol: number; nativeRow: number };
      ext: { width: number; height: number };
    };
    // D3:E9 has 7 rows of 12.8 points.
    expect(tl.nativeCol).toBe(3);
    expect(tl.nativeRow).toBe(2);
    expect(ext.height).toBeGreaterThan(100);
    expect(ext.width / ext.height).toBeCloseTo(30 / 80, 1);
  });

  test("requires exactly one record", async () => {
    const template = await fixture("tastingSheet");
    await expect(fillWithRecords(template, "FORM", [])).rejects.toThrow("exactly one record");
    await expect(fillWithRecords(template, "FORM", WINES)).rejects.toThrow("exactly one record");
  });

  test("without pictures and formulas changes only the filled sheet", async () => {
    const template = await smallBook({ A: { A1: "{{name}}" }, B: { A1: "x" } });
    const { bytes } = await fillWithRecords(template, "FORM", [{ name: "Wine" }]);
    const before = await readParts(template);
    const changed = [...(await readParts(bytes))].filter(
      ([name, content]) => !before.get(name)?.equals(content),
    );
    expect(changed.map(([name]) => name)).toEqual(["xl/worksheets/sheet1.xml"]);
  });

  test("drops the calculation chain, which Excel would report as damage", async () => {
    const template = await changeParts(await smallBook({ A: { A1: "{{name}}", A2: "=A1" } }), {
      "xl/calcChain.xml": `<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><c r="A2" i="1"/></calcChain>`,
      "[Content_Types].xml": (xml) =>
        xml.replace(
          "</Types>",
          `<Override PartName="/xl/calcChain.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml"/></Types>`,
        ),
      "xl/_rels/workbook.xml.rels": (xml) =>
        xml.replace(
          "</Relationships>",
          `<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/calcChain" Target="calcChain.xml"/></Relationships>`,
        ),
    });
    const parts = await readParts(
      (await fillWithRecords(template, "FORM", [{ name: "Wine" }])).bytes,
    );
    expect([...parts.keys()]).not.toContain("xl/calcChain.xml");
    for (const name of ["[Content_Types].xml", "xl/_rels/workbook.xml.rels"])
      expect(parts.get(name)!.toString()).not.toContain("calcChain");
  });
});

describe("filling", () => {
  test("ends at once when it is aborted while it waits for records", async () => {
    const stop = new AbortController();
    let closed = false;
    let asked: () => void = () => {};
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    const rows: AsyncIterable<TemplateRecord> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          asked();
          return new Promise<never>(() => {});
        },
        return: () => {
          closed = true;
          return Promise.resolve({ done: true, value: undefined } as const);
        },
      }),
    };
    const { output } = collect();
    const filling = fillTemplate({
      template: await fixture("priceList"),
      kind: "TABLE",
      fields: FIELDS,
      rows,
      output,
      signal: stop.signal,
    });
    await waiting;
    stop.abort(new Error("cancelled"));
    await expect(filling).rejects.toThrow("cancelled");
    expect([closed, output.destroyed]).toEqual([true, true]);
  });

  test("destroys its output when the template is rejected or the records fail", async () => {
    const { output } = collect();
    const options = {
      kind: "TABLE",
      fields: FIELDS,
      output,
      signal: new AbortController().signal,
    } as const;
    const bad = await smallBook({ S: { A1: "{{nothing}}" } });
    await expect(fillTemplate({ ...options, template: bad, rows: streamOf([]) })).rejects.toThrow(
      "no field nothing",
    );
    expect(output.destroyed).toBe(true);

    const second = collect().output;
    const failing = (async function* () {
      yield await Promise.resolve(WINES[0]!);
      throw new Error("connection lost");
    })();
    const good = await fixture("priceList");
    await expect(
      fillTemplate({ ...options, output: second, template: good, rows: failing }),
    ).rejects.toThrow("connection lost");
    expect(second.destroyed).toBe(true);
  });
});

describe("a value that a cell cannot hold", () => {
  const long = "x".repeat(40_000);

  test("is noted in a table once for each column and reason", async () => {
    const book = await smallBook({
      S: { A1: "Wine", A2: "{{name}}", B2: "{{price}} of {{description}}", C2: "{{picture}}" },
    });
    const { notes, bytes } = await fillWithRecords(book, "TABLE", [
      { name: "Plain", price: "1.50", description: "short", picture: null },
      { name: long, price: "1.50", description: long, picture: null },
      {
        name: long,
        price: "1.50",
        description: "half \ud800",
        picture: { bytes: Buffer.from("GIF89a"), type: "image/png" },
      },
    ]);
    expect(notes).toEqual([
      "name, 2 cells (the first is S!A3): text beyond the 32,767 characters of a cell is cut off",
      "price, description, 1 cell (S!B3): text beyond the 32,767 characters of a cell is cut off",
      "price, description, 1 cell (S!B4): an unpaired surrogate is replaced by \ufffd",
      "picture, 1 cell (S!C4): a picture that is neither PNG nor JPEG is left out",
    ]);
    expect((await cellsOf(bytes, "S", ["A3", "B3"])).map((text) => String(text).length)).toEqual([
      32_767, 32_767,
    ]);
  });

  test("is noted in a form", async () => {
    const book = await smallBook({ S: { A1: "{{name}}", A2: "{{since}}" } });
    expect(
      (await fillWithRecords(book, "FORM", [{ name: "Fine", since: "2020-01-01" }])).notes,
    ).toEqual([]);
    expect(
      (await fillWithRecords(book, "FORM", [{ name: "Old", since: "1850-01-01" }])).notes,
    ).toEqual([
      "since, 1 cell (S!A2): a date before 1 March 1900 or after 9999, which programs read differently, is kept as text",
    ]);
  });
});

describe("the headers and footers of a form", () => {
  const withFooter = (text: string) =>
    smallBook(
      { S: { A1: "{{name}}" } },
      {
        tails: {
          S: `<headerFooter><oddHeader>&amp;A</oddHeader><oddFooter>${text}</oddFooter></headerFooter>`,
        },
      },
    );
  const footerOf = async (bytes: Buffer) =>
    (await readBook(bytes)).getWorksheet("S")!.headerFooter.oddFooter;

  test("show the record with codes escaped", async () => {
    const { bytes, notes } = await fillWithRecords(
      await withFooter("&amp;L&amp;12{{vintage}} {{name}}&amp;RPage &amp;P, {{since}}{{number}}"),
      "FORM",
      [{ name: "Duck & <Rabbit>", vintage: 2001, since: "2020-01-31" }],
    );
    expect(await footerOf(bytes)).toBe("&L&12 2001 Duck && <Rabbit>&RPage &P, 2020-01-31");
    expect(notes).toEqual([]);
    expect((await readBook(bytes)).getWorksheet("S")!.headerFooter.oddHeader).toBe("&A");
  });

  test("are truncated to Excel's limit, with a note", async () => {
    const { bytes, notes } = await fillWithRecords(
      await withFooter("&amp;L{{name}}&amp;RPage &amp;P"),
      "FORM",
      [{ name: "&".repeat(300) }],
    );
    const footer = await footerOf(bytes);
    expect(footer).toMatch(/^&L(?:&&)+&RPage &P$/);
    expect(footer!.length).toBeGreaterThan(253);
    expect(footer!.length).toBeLessThanOrEqual(255);
    expect(notes).toEqual([
      "name, 1 cell (header or footer of S): text beyond the 255 characters of a header or footer is cut off",
    ]);
  });
});
