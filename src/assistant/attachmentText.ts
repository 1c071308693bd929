import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import yazl from "yazl";
import { readPackage } from "../xlsx/template/readPackage.ts";
import { decodeText } from "./attachmentType.ts";

/** The text of a CSV file, up to a number of characters. */
export function csvText(bytes: Buffer, characters: number): string {
  const text = decodeText(bytes) ?? "";
  return text.length <= characters ? text : cut(text, characters);
}

/** The cells of a workbook as tab-separated lines, sheet by sheet, up to a number of characters. Reads no further. */
export async function workbookText(bytes: Buffer, characters: number): Promise<string> {
  // Loaded lazily; most processes never need it.
  const { default: ExcelJS } = await import("exceljs");
  const reader = new ExcelJS.stream.xlsx.WorkbookReader(await reordered(bytes), {
    sharedStrings: "cache",
    styles: "cache",
    hyperlinks: "ignore",
    worksheets: "emit",
    entries: "ignore",
  });
  let text = "";
  for await (const sheet of reader) {
    text += `Sheet ${nameOf(sheet)}\n`;
    for await (const row of sheet) {
      const cells: string[] = [];
      row.eachCell({ includeEmpty: true }, (cell) => cells.push(cell.text.replace(/\s+/g, " ")));
      text += `${cells.join("\t")}\n`;
      if (text.length > characters) return cut(text, characters);
    }
  }
  return text;
}

/** The reader needs these parts first; a sheet that precedes them is written to a temporary file that may remain. */
const BEFORE_SHEETS = [
  "xl/_rels/workbook.xml.rels",
  "xl/workbook.xml",
  "xl/sharedStrings.xml",
  "xl/styles.xml",
];

/** The parts of a workbook in the order in which they are read, within the package limits. */
async function reordered(bytes: Buffer): Promise<Readable> {
  const parts = await readPackage(bytes);
  if (!parts.has("xl/sharedStrings.xml")) parts.set("xl/sharedStrings.xml", Buffer.from("<sst/>"));
  const zip = new yazl.ZipFile();
  for (const name of new Set([...BEFORE_SHEETS, ...parts.keys()])) {
    const part = parts.get(name);
    if (part) zip.addBuffer(part, name, { compress: false });
  }
  zip.end();
  return Readable.from([await buffer(zip.outputStream)]);
}

function nameOf(sheet: object): string {
  return "name" in sheet ? String(sheet.name) : "";
}

function cut(text: string, characters: number): string {
  return `${text.slice(0, characters).toWellFormed()}\n[The rest is left out.]`;
}
