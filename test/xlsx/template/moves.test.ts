import { describe, expect, test } from "@jest/globals";
import { checkTemplate } from "../../../src/xlsx/template/checkTemplate.ts";
import { isDateFormat } from "../../../src/xlsx/template/styleRegistry.ts";
import { readBook, readParts } from "../../helpers/xlsx/readers.ts";
import {
  FIELDS,
  WINES,
  changeParts,
  fillWithRecords,
  png,
  smallBook,
} from "../../helpers/xlsx/template/wineFields.ts";

// Handmade parts with features that Excel writes and LibreOffice does not.

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const relations = (
  list: readonly (readonly [type: string, target: string, external?: boolean])[],
) =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list
    .map(
      ([type, target, external], index) =>
        `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${target}"${external ? ' TargetMode="External"' : ""}/>`,
    )
    .join("")}</Relationships>`;
const SHEET = "xl/worksheets/sheet1.xml";
const SHEET_RELATIONS = "xl/worksheets/_rels/sheet1.xml.rels";

/** Row 3 repeats, with headings above and a total below. */
const list = (tail = "") =>
  smallBook(
    {
      S: {
        A2: "Name",
        B2: "Price",
        A3: "{{name}}",
        B3: "{{price}}",
        A4: "Total",
        B4: "=SUM(B3:B3)",
        B6: "=B4",
        B7: "=B4*2",
        B8: "=B4*3",
      },
    },
    { tails: { S: tail } },
  );

async function partsOf(template: Buffer, records = WINES) {
  const { problems } = await checkTemplate(template, FIELDS, "TABLE");
  expect(problems).toEqual([]);
  const parts = await readParts((await fillWithRecords(template, "TABLE", records)).bytes);
  return (name: string) => parts.get(name)!.toString();
}

describe("moves", () => {
  test("tables and their filters grow with the records", async () => {
    const table = `<table xmlns="${MAIN}" id="1" name="Wines" displayName="Wines" ref="A2:B4" totalsRowCount="1"><autoFilter ref="A2:B3"/><tableColumns count="2"><tableColumn id="1" name="Name"/><tableColumn id="2" name="Price"><totalsRowFormula>SUM(B3:B3)</totalsRowFormula></tableColumn></tableColumns></table>`;
    const template = await changeParts(
      await list(`<tableParts count="1"><tablePart r:id="rId1"/></tableParts>`),
      {
        "xl/tables/table1.xml": table,
        [SHEET_RELATIONS]: relations([["table", "../tables/table1.xml"]]),
      },
    );
    const text = (await partsOf(template))("xl/tables/table1.xml");
    expect(text).toContain('ref="A2:B7"');
    expect(text).toContain('<autoFilter ref="A2:B6"/>');
    expect(text).toContain("<totalsRowFormula>SUM(B3:B6)</totalsRowFormula>");
  });

  test("a table with the repeated rows as header or totals is rejected", async () => {
    const table = (ref: string) =>
      `<table xmlns="${MAIN}" id="1" name="Wines" displayName="Wines" ref="${ref}"/>`;
    const template = await changeParts(await list(), {
      "xl/tables/table1.xml": table("A3:B9"),
      [SHEET_RELATIONS]: relations([["table", "../tables/table1.xml"]]),
    });
    expect((await checkTemplate(template, FIELDS, "TABLE")).problems).toEqual([
      {
        sheet: "S",
        cell: "A3:B9",
        reason: "A table must contain the repeated rows among its data rows",
      },
    ]);
  });

  test("shared formulas are expanded only where necessary", async () => {
    const shared = (xml: string) =>
      xml
        .replace("<f>B4</f>", '<f t="shared" ref="B6:B8" si="0">B4*$B$4</f>')
        .replace(/<f>B4\*[23]<\/f>/g, '<f t="shared" si="0"/>');
    const text = await partsOf(await changeParts(await list(), { [SHEET]: shared }));
    expect(text(SHEET).match(/<c r="B\d+"><f[^v]*?<\/f>/g)).toEqual([
      '<c r="B7"><f>SUM(B3:B6)</f>',
      '<c r="B9"><f>B7*$B$7</f>',
      '<c r="B10"><f>B8*$B$7</f>',
      '<c r="B11"><f>B9*$B$7</f>',
    ]);
    const other = await smallBook({ S: { A3: "{{name}}" }, T: { A1: "=B1", A2: "=B2" } });
    const kept = await partsOf(
      await changeParts(other, {
        "xl/worksheets/sheet2.xml": (xml) =>
          xml
            .replace("<f>B1</f>", '<f t="shared" ref="A1:A2" si="0">B1</f>')
            .replace("<f>B2</f>", '<f t="shared" si="0"/>'),
      }),
    );
    expect(kept("xl/worksheets/sheet2.xml")).toContain(
      '<f t="shared" ref="A1:A2" si="0">B1</f></c>',
    );
  });

  test("array formulas below, breaks, panes, filters, ignored errors and Excel's extension formats are moved", async () => {
    const tail =
      `<autoFilter ref="A2:B3"/><conditionalFormatting sqref="A3:B3 A6"><cfRule type="dataBar" priority="1"><dataBar><cfvo type="formula" val="$B$4"/></dataBar></cfRule></conditionalFormatting>` +
      `<rowBreaks count="2"><brk id="1"/><brk id="3"/></rowBreaks><ignoredErrors><ignoredError sqref="B3" numberStoredAsText="1"/></ignoredErrors>` +
      `<extLst><ext xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:conditionalFormatting><x14:cfRule type="expression"><xm:f>$B3&gt;$B$4</xm:f></x14:cfRule><xm:sqref>A3:B3</xm:sqref></x14:conditionalFormatting></ext></extLst>`;
    const template = await changeParts(await list(tail), {
      [SHEET]: (xml) =>
        xml
          .replace(
            "<sheetData>",
            '<sheetViews><sheetView workbookViewId="0"><pane ySplit="2" topLeftCell="A3" state="frozen"/><selection activeCell="B6" sqref="B6"/></sheetView></sheetViews><sheetData>',
          )
          .replace("<f>B4</f>", '<f t="array" ref="B6">B4</f>'),
    });
    const sheet = (await partsOf(template))(SHEET);
    for (const piece of [
      '<f t="array" ref="B9">B7</f>',
      '<autoFilter ref="A2:B6"/>',
      'sqref="A3:B6 A9"',
      'val="$B$7"',
      '<brk id="1"/><brk id="6"/>',
      'sqref="B3:B6" numberStoredAsText',
      "<xm:f>$B3&gt;$B$7</xm:f>",
      "<xm:sqref>A3:B6</xm:sqref>",
      'topLeftCell="A3"',
      'activeCell="B9" sqref="B9"',
    ])
      expect(sheet).toContain(piece);
  });

  test("hyperlinks of the repeated row are copied for each record, and links to moved cells are updated", async () => {
    const tail = `<hyperlinks><hyperlink ref="A3" r:id="rId1" xr:uid="{1}" xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision"/><hyperlink ref="A2" location="S!B4"/><hyperlink ref="A4" location="'S'!A1"/></hyperlinks>`;
    const template = await changeParts(await list(tail), {
      [SHEET_RELATIONS]: relations([["hyperlink", "https://example.com/", true]]),
    });
    const sheet = (await partsOf(template, WINES.slice(0, 3)))(SHEET);
    expect(
      [...sheet.matchAll(/<hyperlink ref="(\w+)"(?: location="([^"]+)")?/g)].map(
        ([, ref, location]) => [ref, location],
      ),
    ).toEqual([
      ["A3", undefined],
      ["A2", "S!B6"],
      ["A6", "'S'!A1"],
      ["A4", undefined],
      ["A5", undefined],
    ]);
    expect(sheet.match(/xr:uid/g)).toHaveLength(1);
  });

  test("threaded comments and the pivot table source on another sheet are moved", async () => {
    const template = await changeParts(await list(), {
      "xl/threadedComments/threadedComment1.xml": `<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"><threadedComment ref="B4" id="{1}"><text>x</text></threadedComment></ThreadedComments>`,
      [SHEET_RELATIONS]: relations([
        ["threadedComment", "../threadedComments/threadedComment1.xml"],
      ]),
      "xl/pivotCache/pivotCacheDefinition1.xml": `<pivotCacheDefinition xmlns="${MAIN}"><cacheSource type="worksheet"><worksheetSource ref="A2:B3" sheet="S"/></cacheSource></pivotCacheDefinition>`,
    });
    const text = await partsOf(template);
    expect(text("xl/threadedComments/threadedComment1.xml")).toContain('ref="B7"');
    expect(text("xl/pivotCache/pivotCacheDefinition1.xml")).toMatch(
      /refreshOnLoad="1".*ref="A2:B6"/,
    );
  });
});

describe("sheets of other programs", () => {
  test("rows and cells without numbers, and elements with a prefix, are parsed", async () => {
    const template = await changeParts(await smallBook({ S: { A1: "x" } }), {
      [SHEET]: `<x:worksheet xmlns:x="${MAIN}"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>Name</x:t></x:is></x:c></x:row><x:row><x:c t="inlineStr"><x:is><x:t>{{name}}</x:t></x:is></x:c><x:c t="inlineStr"><x:is><x:t>{{stock}}</x:t></x:is></x:c></x:row><x:row><x:c><x:v>1</x:v></x:c><x:c><x:f>SUM(B2:B2)</x:f></x:c></x:row></x:sheetData></x:worksheet>`,
    });
    const sheet = (await partsOf(template, WINES.slice(0, 2)))(SHEET);
    expect(sheet).toContain('<x:row r="3"><x:c r="A3"');
    expect(sheet).toContain("<x:t>Château 1</x:t>");
    expect(sheet).toContain(
      '<x:row r="4"><x:c r="A4"><x:v>1</x:v></x:c><x:c r="B4"><x:f>SUM(B2:B3)</x:f></x:c></x:row>',
    );
  });

  test("the 1904 date system is preserved", async () => {
    const template = await changeParts(await smallBook({ S: { A1: "{{since}}" } }), {
      "xl/workbook.xml": (xml) => xml.replace("<sheets>", '<workbookPr date1904="1"/><sheets>'),
    });
    const parts = await readParts(
      (await fillWithRecords(template, "FORM", [{ since: "1904-01-02" }])).bytes,
    );
    expect(parts.get(SHEET)!.toString()).toContain("<v>1</v>");
  });

  test("a date without date format gets the short date, and text that looks like a formula is quoted", async () => {
    const styles = `<styleSheet xmlns="${MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellXfs count="2"><xf numFmtId="0" fontId="0"/><xf numFmtId="9" fontId="0"/></cellXfs></styleSheet>`;
    const template = await changeParts(
      await smallBook({
        S: { A1: "{{since}}", B1: "{{changed}}", C1: "{{name}}", D1: "{{stock}}" },
      }),
      {
        "xl/styles.xml": styles,
        "xl/_rels/workbook.xml.rels": (xml) =>
          xml.replace(
            "</Relationships>",
            `<Relationship Id="rId8" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
          ),
      },
    );
    const { bytes } = await fillWithRecords(template, "FORM", [WINES[1]!]);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    expect(["A1", "B1", "C1", "D1"].map((cell) => sheet.getCell(cell).value)).toEqual([
      new Date("2020-01-02"),
      new Date("2026-01-02T12:00:00Z"),
      "=1+1 <b>",
      20,
    ]);
    const written = (await readParts(bytes)).get("xl/styles.xml")!.toString();
    expect(written).toContain('<cellXfs count="5">');
    expect(
      [...written.matchAll(/<xf[^>]*(?:quotePrefix|applyNumberFormat)[^>]*>/g)].map(
        ([xf]) => /numFmtId="(\d+)"/.exec(xf)?.[1],
      ),
    ).toEqual(["14", "22", "0"]);
  });

  test.each([
    [14, undefined, true],
    [22, undefined, true],
    [0, undefined, false],
    [49, undefined, false],
    [164, "yyyy-mm-dd", true],
    [164, "[h]:mm", true],
    [164, '#,##0.00 "days"', false],
    [164, "[Red]0.00", false],
    [164, "[$-406]d. mmmm", true],
    [164, "General", false],
    [164, "0.0\\d", false],
  ])("format %p %p shows a date: %p", (id, code, expected) => {
    expect(isDateFormat(id, code)).toBe(expected);
  });
});

describe("records", () => {
  test("above the row limit of a sheet are rejected", async () => {
    const template = await smallBook({ S: { A1048575: "{{name}}" } });
    expect((await fillWithRecords(template, "TABLE", WINES.slice(0, 2))).rows).toBe(2);
    await expect(fillWithRecords(template, "TABLE", WINES.slice(0, 3))).rejects.toThrow(
      "there are too many records",
    );
  });

  test("with long texts are truncated, and missing values leave the cell empty", async () => {
    const template = await smallBook({
      S: { A1: "{{name}}, {{description}}", B1: "{{price}}", C1: "{{picture}}" },
    });
    const { bytes } = await fillWithRecords(template, "FORM", [
      {
        name: "x".repeat(32_760),
        description: "abcdefgh🍷",
        price: null,
        picture: { bytes: Buffer.from("no picture"), type: "image/png" },
      },
    ]);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    expect(sheet.getCell("A1").text.slice(-7)).toBe(", abcde");
    expect(sheet.getCell("A1").text).toHaveLength(32_767);
    expect([sheet.getCell("B1").value, sheet.getCell("C1").value]).toEqual([null, null]);
    expect([...(await readParts(bytes)).keys()].some((name) => name.startsWith("xl/media"))).toBe(
      false,
    );
  });

  test("have their pictures in their own row, and equal pictures are stored once", async () => {
    const template = await smallBook({ S: { A2: "{{picture}}", B2: "{{name}}", A3: "Below" } });
    const [first, second] = [png(10, 10), png(20, 10)];
    const { bytes } = await fillWithRecords(
      template,
      "TABLE",
      [first, second, Buffer.from(first)].map((picture) => ({
        name: "x",
        picture: { bytes: picture, type: "image/png" },
      })),
    );
    const sheet = (await readBook(bytes)).worksheets[0]!;
    expect(
      sheet
        .getImages()
        .map(({ range, imageId }) => [
          (range as unknown as { tl: { nativeRow: number } }).tl.nativeRow,
          imageId,
        ]),
    ).toEqual([
      [1, sheet.getImages()[0]!.imageId],
      [2, sheet.getImages()[1]!.imageId],
      [3, sheet.getImages()[0]!.imageId],
    ]);
    expect(
      [...(await readParts(bytes)).keys()].filter((name) => name.startsWith("xl/media")),
    ).toHaveLength(2);
  });
});
