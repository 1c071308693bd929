import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { checkTemplate } from "../../../src/xlsx/template/checkTemplate.ts";
import type { TemplateKind } from "../../../src/xlsx/template/plan.ts";
import {
  WINES,
  FIELDS,
  changeParts,
  fillWithRecords,
  fixture,
  createPackage,
  smallBook,
} from "../../helpers/xlsx/template/wineFields.ts";

type Cells = Parameters<typeof smallBook>[0];

/** The problems as `sheet!cell: reason`. */
async function problemsOf(file: Buffer | string, kind: TemplateKind = "TABLE"): Promise<string[]> {
  const { problems } = await checkTemplate(file, FIELDS, kind);
  return problems.map(({ sheet, cell, reason }) =>
    [sheet === null ? "" : cell === null ? `${sheet}: ` : `${sheet}!${cell}: `, reason].join(""),
  );
}

const problemsIn = async (
  sheets: Cells,
  kind?: TemplateKind,
  extra?: Parameters<typeof smallBook>[1],
) => problemsOf(await smallBook(sheets, extra), kind);

test("accepts LibreOffice's workbooks and lists their placeholders", async () => {
  expect(await problemsOf(await fixture("tastingSheet"), "FORM")).toEqual([]);
  expect(await problemsOf(await fixture("twoRows"))).toEqual([]);
  expect(await checkTemplate(await fixture("priceList"), FIELDS, "TABLE")).toEqual({
    placeholders: [
      ["A5", "number"],
      ["B5", "name"],
      ["B5", "vintage"],
      ["C5", "price"],
      ["D5", "stock"],
      ["H5", "since"],
      ["I5", "picture"],
    ].map(([cell, field]) => ({ sheet: "Price list", cell, field })),
    problems: [],
    problemCount: 0,
  });
});

describe("placeholders", () => {
  test.each([
    ["{{prise}}", "S!A1: There is no field prise (did you mean `price`?)"],
    ["{{Price}}", "S!A1: There is no field Price (did you mean `price`?)"],
    ["{{name", "S!A1: `{{` has no `}}` after it"],
    ["name}}", "S!A1: `}}` has no `{{` before it"],
    ["{{name} and {{price}}", "S!A1: `{{` has no `}}` after it"],
    ["{{}}", "S!A1: `{{}}` contains no field name"],
    [
      "{{a b}}",
      "S!A1: `{{a b}}` is not a field name: a name consists of letters, digits, dots and underscores",
    ],
    [
      "{{{name}}}",
      "S!A1: `{{{name}}` is not a field name: a name consists of letters, digits, dots and underscores",
    ],
    ["{{__proto__}}", "S!A1: There is no field __proto__"],
    ["See {{picture}}", "S!A1: The picture {{picture}} must be the only content of its cell"],
    [
      '=UPPER("{{name}}")',
      "S!A1: A placeholder is in a formula: put it in a separate cell and refer to that cell",
    ],
    ["Nothing", "It contains no placeholder, such as {{name}}"],
  ])("%s is reported: %s", async (text, problem) => {
    expect(await problemsIn({ S: { A1: text } }, "FORM")).toEqual([problem]);
  });

  test("may contain spaces, appear several times in a text, and be next to single braces", async () => {
    expect(
      await problemsIn({ S: { A1: "{ {{ name }} } {{price}}", A2: " {{picture}} " } }),
    ).toEqual([]);
  });

  test("outside of cells are rejected, because they are not filled", async () => {
    const list = await fixture("priceList");
    const chart = "xl/charts/chart1.xml";
    const title = `<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:t>{{name}}</a:t></c:chartSpace>`;
    expect(await problemsOf(await changeParts(list, { [chart]: title }))).toEqual([
      "A placeholder in a chart is not filled",
    ]);
    expect(
      await problemsOf(
        await changeParts(list, {
          "xl/comments1.xml": (xml) => xml.replace("Without VAT", "{{name}}"),
        }),
      ),
    ).toEqual(["A placeholder in a comment is not filled"]);
    expect(
      await problemsOf(
        await changeParts(list, {
          "xl/worksheets/sheet1.xml": (xml) =>
            xml.replace("<conditionalFormatting", "<!--{{name}}--><conditionalFormatting"),
        }),
      ),
    ).toEqual([
      "Price list: A placeholder outside of the cells (in a format, validation or link) is not filled",
    ]);
    expect(await problemsIn({ "{{name}}": { A1: "{{name}}" } })).toEqual([
      "A placeholder in the name of a sheet or in a defined name is not filled",
    ]);
  });
});

describe("placeholders in headers and footers", () => {
  const footer = (text: string) => ({
    tails: { S: `<headerFooter><oddFooter>${text}</oddFooter></headerFooter>` },
  });
  const wine = { S: { A1: "{{name}}" } };

  test("are allowed in a form, which has one record", async () => {
    expect(await problemsIn(wine, "FORM", footer("&amp;L{{name}}, page &amp;P"))).toEqual([]);
  });

  test("are rejected in a table, which has many records, and for pictures", async () => {
    expect(await problemsIn(wine, "TABLE", footer("&amp;L{{name}}"))).toEqual([
      "S: Headers and footers are printed on every page and cannot contain placeholders of one record (header or footer)",
    ]);
    expect(await problemsIn(wine, "FORM", footer("{{nam}}"))).toEqual([
      "S: There is no field nam (did you mean `name`?) (header or footer)",
    ]);
    expect(await problemsIn(wine, "FORM", footer("{{picture}}"))).toEqual([
      "S: The picture {{picture}} needs a cell (header or footer)",
    ]);
  });
});

describe("the repeated rows of a table", () => {
  test("must be one block on one sheet", async () => {
    expect(await problemsIn({ S: { A2: "{{name}}", A5: "{{price}}" } })).toEqual([
      "S!A5: Only one block of rows can repeat, and rows 2 to 2 are one: rows 3 to 4 between have no placeholder",
    ]);
    expect(await problemsIn({ S: { A2: "{{name}}" }, T: { B7: "{{price}}" } })).toEqual([
      "T!B7: The repeated rows must be on one sheet, but S also has placeholders",
    ]);
    expect(
      await problemsIn({ S: { A2: "{{name}}", A5: "{{price}}" }, T: { B7: "{{price}}" } }, "FORM"),
    ).toEqual([]);
  });

  test("include rows merged with a placeholder, and are rejected when a merged range exceeds them", async () => {
    const merged = (ref: string) => ({
      tails: { S: `<mergeCells count="1"><mergeCell ref="${ref}"/></mergeCells>` },
    });
    expect(
      await problemsIn(
        {
          S: {
            A2: "{{picture}}",
            B2: "{{name}}",
            B3: "Price",
            C2: "=SUM(D2:D3)",
            E9: "=SUM(D2:D3)",
          },
        },
        "TABLE",
        merged("A2:A3"),
      ),
    ).toEqual([]);
    expect(await problemsIn({ S: { A2: "{{name}}", B1: "x" } }, "TABLE", merged("B1:B2"))).toEqual(
      [],
    );
    expect(await problemsIn({ S: { A2: "{{name}}", B2: "x" } }, "TABLE", merged("B2:B3"))).toEqual([
      "S!B2:B3: A merged range reaches out of the repeated rows (2 to 2)",
    ]);
  });

  test("are rejected with the cell when a formula, format, validation or filter covers part of them", async () => {
    const cells = { S: { A2: "{{name}}", B3: "{{price}}" } };
    const tail = (xml: string) => problemsIn(cells, "TABLE", { tails: { S: xml } });
    expect(await problemsIn({ S: { ...cells.S, B5: "=SUM(B3:B4)" } })).toEqual([
      "S!B5: B3:B4 contains some of the repeated rows but not all",
    ]);
    expect(await problemsIn({ S: { ...cells.S, C2: "=SUM(B$3:B$3)" } })).toEqual([
      "S!C2: B$3:B$3 contains some of the repeated rows but not all",
    ]);
    expect(await problemsIn({ ...cells, T: { A1: "=SUM(S!B3)" } })).toEqual([
      "T!A1: S!B3 refers to one of several repeated rows: refer to all of them",
    ]);
    expect(await tail(`<autoFilter ref="A1:B2"/>`)).toEqual([
      "S!A1:B2: A filter contains some of the repeated rows (2 to 3) but not all",
    ]);
    expect(
      await tail(
        `<conditionalFormatting sqref="A3:B9"><cfRule type="expression" priority="1"><formula>TRUE</formula></cfRule></conditionalFormatting>`,
      ),
    ).toEqual([
      "S!A3:B9: A conditional format contains some of the repeated rows (2 to 3) but not all",
    ]);
    expect(
      await tail(
        `<conditionalFormatting sqref="A2:B3"><cfRule type="expression" priority="1"><formula>A2&gt;B7</formula></cfRule></conditionalFormatting>`,
      ),
    ).toEqual([
      "S!A2: The formula of a format or validation: B7 has a row that would differ from record to record: write it with $",
    ]);
    expect(
      await tail(
        `<dataValidations count="1"><dataValidation type="whole" sqref="B2"><formula1>1</formula1></dataValidation></dataValidations>`,
      ),
    ).toEqual(["S!B2: A data validation contains some of the repeated rows (2 to 3) but not all"]);
    expect(await problemsIn(cells, "TABLE", { names: { Prices: "S!$B$3:$B$3" } })).toEqual([
      "The defined name Prices: S!$B$3:$B$3 contains some of the repeated rows but not all",
    ]);
  });

  test("are rejected with a sparkline", async () => {
    const tail = `<extLst><ext xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:sparkline><xm:f>S!B2:D2</xm:f><xm:sqref>E2</xm:sqref></x14:sparkline></ext></extLst>`;
    expect(await problemsIn({ S: { A2: "{{name}}" } }, "TABLE", { tails: { S: tail } })).toEqual([
      "S!E2: A sparkline in repeated rows cannot be repeated: remove it",
    ]);
  });

  test("are rejected with array formulas, controls or a pivot table on their sheet", async () => {
    const book = await smallBook({ S: { A2: "{{name}}", B2: "=SUM(C2:D2)" } });
    const sheet = "xl/worksheets/sheet1.xml";
    expect(
      await problemsOf(
        await changeParts(book, {
          [sheet]: (xml) => xml.replace("<f>", '<f t="array" ref="B2:B4">'),
        }),
      ),
    ).toEqual(["S!B2: A formula that fills several cells is not allowed in repeated rows"]);
    expect(
      await problemsOf(
        await changeParts(book, {
          [sheet]: (xml) => xml.replace("</worksheet>", "<controls/></worksheet>"),
        }),
      ),
    ).toEqual(["S: Form controls on a sheet with repeated rows cannot be moved: remove them"]);
    expect(
      await problemsOf(
        await changeParts(book, {
          "xl/pivotTables/pivotTable1.xml": `<pivotTableDefinition xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>`,
          "xl/worksheets/_rels/sheet1.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/pivotTable" Target="../pivotTables/pivotTable1.xml"/></Relationships>`,
        }),
      ),
    ).toEqual([
      "S: A pivot table on the sheet with the repeated rows cannot be moved: put it on another sheet",
    ]);
  });
});

describe("content that could run code, load data or leak data", () => {
  const book = smallBook({ S: { A1: "{{name}}" } });
  test.each<[string, Parameters<typeof changeParts>[1], string]>([
    ["macros", { "xl/vbaProject.bin": "x" }, "It contains macros"],
    [
      "links to other workbooks",
      { "xl/externalLinks/externalLink1.xml": "<externalLink/>" },
      "It is linked to another workbook",
    ],
    ["data connections", { "xl/connections.xml": "<connections/>" }, "It has data connections"],
    [
      "data queries",
      { "customXml/item1.xml": Buffer.from("\ufeff<DataMashup>x</DataMashup>") },
      "It has data queries",
    ],
    ["embedded objects", { "xl/embeddings/oleObject1.bin": "x" }, "It contains embedded objects"],
    ["a signature", { "_xmlsignatures/sig1.xml": "<Signature/>" }, "It is signed"],
    [
      "pictures from the web",
      {
        "xl/worksheets/_rels/sheet1.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="http://example.com/x.png" TargetMode="External"/></Relationships>`,
      },
      "It points to something outside (image: http://example.com/x.png)",
    ],
    [
      "the type of a workbook with macros",
      {
        "[Content_Types].xml": (xml) =>
          xml.replace(
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
            "application/vnd.ms-excel.sheet.macroEnabled.main+xml",
          ),
      },
      "The workbook may contain macros",
    ],
    [
      "the type of a template",
      { "[Content_Types].xml": (xml) => xml.replace("sheet.main+xml", "template.main+xml") },
      "not an ordinary workbook",
    ],
    [
      "Strict Open XML",
      {
        "xl/workbook.xml": (xml) =>
          xml.replace(
            "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            "http://purl.oclc.org/ooxml/spreadsheetml/main",
          ),
      },
      "Strict Open XML",
    ],
    [
      "a DTD",
      { "xl/worksheets/sheet1.xml": (xml) => `<!DOCTYPE worksheet [<!ENTITY a "aaaa">]>${xml}` },
      "it has a document type definition",
    ],
    [
      "an unknown entity",
      { "xl/worksheets/sheet1.xml": (xml) => xml.replace("{{name}}", "{{name}}&a;") },
      "The part xl/worksheets/sheet1.xml is not accepted",
    ],
    [
      "broken XML",
      { "xl/worksheets/sheet1.xml": (xml) => xml.replace("</sheetData>", "") },
      "The part xl/worksheets/sheet1.xml is not accepted",
    ],
    [
      "XML that is not UTF-8",
      { "xl/worksheets/sheet1.xml": Buffer.from([0x3c, 0x61, 0xff, 0x3e]) },
      "The part xl/worksheets/sheet1.xml is not accepted",
    ],
    [
      "a missing sheet",
      { "xl/worksheets/sheet1.xml": null },
      "The workbook has no part xl/worksheets/sheet1.xml",
    ],
    ["no workbook part", { "xl/workbook.xml": null }, "This is not a workbook"],
    [
      "a DTD in a drawing",
      { "xl/drawings/vmlDrawing1.vml": "<!DOCTYPE xml><xml/>" },
      "document type definition",
    ],
  ])("rejects %s", async (_name, changes, problem) => {
    expect(await problemsOf(await changeParts(await book, changes), "FORM")).toEqual([
      expect.stringContaining(problem),
    ]);
  });

  test("rejects formulas with external references, with the cell", async () => {
    expect(await problemsIn({ S: { A1: "{{name}}", B7: '=WEBSERVICE("http://x/"&A1)' } })).toEqual([
      "S!B7: The function WEBSERVICE refers outside of the workbook",
    ]);
    expect(await problemsIn({ S: { A1: "{{name}}", B1: '=WEBSERVICE("http://x/"&A1)' } })).toEqual([
      "S!B1: The function WEBSERVICE refers outside of the workbook",
    ]);
    expect(
      await problemsIn({ S: { A1: "{{name}}" } }, "FORM", {
        names: { Leak: "WEBSERVICE(S!$A$1)" },
      }),
    ).toEqual(["The defined name Leak: The function WEBSERVICE refers outside of the workbook"]);
  });
});

describe("files that are no workbooks or too large", () => {
  test.each([
    ["nothing", Buffer.alloc(0), "This is not a workbook: save it as .xlsx"],
    ["a text", Buffer.from("a,b,c\n"), "This is not a workbook: save it as .xlsx"],
    [
      "an old .xls",
      Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(512)]),
      "This is an old .xls workbook: save it as .xlsx",
    ],
    [
      "an encrypted workbook",
      Buffer.concat([
        Buffer.from("d0cf11e0a1b11ae1", "hex"),
        Buffer.from("EncryptedPackage", "utf16le"),
      ]),
      "The workbook is encrypted: save it without a password",
    ],
    [
      "too large a file",
      Buffer.alloc(10 * 2 ** 20 + 1),
      "The file has 10485761 bytes; at most 10485760 are allowed",
    ],
  ])("rejects %s", async (_name, file, problem) => {
    expect(await problemsOf(file)).toEqual([problem]);
  });

  test("rejects an OpenDocument file", async () => {
    const file = await createPackage([
      ["mimetype", "application/vnd.oasis.opendocument.spreadsheet"],
      ["content.xml", "<x/>"],
    ]);
    expect(await problemsOf(file)).toEqual(["This is an OpenDocument file: save it as .xlsx"]);
  });

  test("rejects a part with an extreme compression ratio before unpacking it", async () => {
    const book = await changeParts(await smallBook({ S: { A1: "{{name}}" } }), {
      "xl/media/bomb.bin": Buffer.alloc(30 * 2 ** 20),
    });
    expect(book.length).toBeLessThan(2 ** 20);
    expect(await problemsOf(book)).toEqual([
      "The part xl/media/bomb.bin grows more than 250 times when unpacked",
    ]);
  });

  test("rejects too many parts, too large a total size, and duplicate names", async () => {
    const many = Array.from({ length: 2_001 }, (_, index) => [`a${index}`, ""] as const);
    expect(await problemsOf(await createPackage(many))).toEqual([
      "The file has 2001 parts; at most 2000 are allowed",
    ]);
    // Each is just below the limit for a single part.
    const large = Array.from(
      { length: 70 },
      (_, index) => [`a${index}`, Buffer.alloc(2 ** 20)] as const,
    );
    expect(await problemsOf(await createPackage(large))).toEqual([
      expect.stringContaining("at most 67108864 are allowed"),
    ]);
    expect(
      await problemsOf(
        await createPackage([
          ["a.xml", ""],
          ["A.xml", ""],
        ]),
      ),
    ).toEqual(["The file has two parts named A.xml"]);
  });

  test("rejects wrong announced sizes, and names outside of the package", async () => {
    const book = await changeParts(await smallBook({ S: { A1: "{{name}}" } }), {
      "xl/aa/evil.xml": "<a/>",
      "xl/big.bin": "x".repeat(1000),
    });
    const renamed = Buffer.from(
      book.toString("latin1").replaceAll("xl/aa/evil.xml", "../../evil.xml"),
      "latin1",
    );
    expect(await problemsOf(renamed)).toEqual([
      expect.stringMatching(/^The file cannot be unpacked: invalid relative path/),
    ]);
    const backslash = Buffer.from(
      book.toString("latin1").replaceAll("xl/aa/evil.xml", "xl\\aa\\evil.xml"),
      "latin1",
    );
    expect(await problemsOf(backslash)).toEqual([
      expect.stringMatching(/^The file cannot be unpacked: invalid characters/),
    ]);
    const liar = Buffer.from(book);
    // The uncompressed size of `xl/big.bin` in the central directory, 22 bytes before the name.
    const at = liar.lastIndexOf("xl/big.bin");
    liar.writeUInt32LE(10, at - 46 + 24);
    expect(await problemsOf(liar)).toEqual([
      expect.stringContaining("The file cannot be unpacked"),
    ]);
  });

  test("rejects overlapping parts", async () => {
    const one = await createPackage([["a", randomBytes(1000)]]);
    // The directory entry of `a` three times, as `a`, `b` and `c`.
    const end = one.length - 22;
    const start = one.readUInt32LE(end + 16);
    const entries = ["a", "b", "c"].map((name) => {
      const entry = Buffer.from(one.subarray(start, end));
      entry.write(name, 46);
      return entry;
    });
    const tail = Buffer.from(one.subarray(end));
    tail.writeUInt16LE(3, 8);
    tail.writeUInt16LE(3, 10);
    tail.writeUInt32LE(3 * (end - start), 12);
    expect(await problemsOf(Buffer.concat([one.subarray(0, start), ...entries, tail]))).toEqual([
      "The parts of the file overlap",
    ]);
  });

  test("rejects a truncated file, and a broken directory", async () => {
    const book = await smallBook({ S: { A1: "{{name}}" } });
    expect(await problemsOf(book.subarray(0, book.length / 2))).toEqual([
      expect.stringContaining("The file cannot be unpacked"),
    ]);
  });

  test("rejects more cells and elements than allowed", async () => {
    const rows = Array.from(
      { length: 26_000 },
      (_, row) => `<row r="${row + 2}">${"<c><v>1</v></c>".repeat(10)}</row>`,
    ).join("");
    const book = await changeParts(await smallBook({ S: { A1: "{{name}}" } }), {
      "xl/worksheets/sheet1.xml": (xml) => xml.replace("</sheetData>", `${rows}</sheetData>`),
    });
    expect(await problemsOf(book)).toEqual([
      expect.stringContaining("the workbook has too many cells and elements"),
    ]);
  });

  test("rejects elements nested a hundred thousand deep", async () => {
    const deep = `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`;
    const book = await changeParts(await smallBook({ S: { A1: "{{name}}" } }), {
      "xl/worksheets/sheet1.xml": (xml) =>
        xml.replace("</worksheet>", `<extLst>${deep}</extLst></worksheet>`),
    });
    expect(await problemsOf(book)).toEqual([
      expect.stringContaining("its elements nest deeper than 64"),
    ]);
  });
});

test("a rejected template cannot be filled, with the same message", async () => {
  const book = await smallBook({ S: { A2: "{{nam}}" } });
  await expect(fillWithRecords(book, "TABLE", WINES)).rejects.toThrow(
    "S!A2: There is no field nam (did you mean `name`?)",
  );
});
