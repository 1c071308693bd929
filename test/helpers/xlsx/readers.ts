import exceljs from "exceljs";
import { readXlsx } from "hucre/xlsx";
import { fromBufferPromise } from "yauzl";

/** Parses a workbook with exceljs. */
export async function readBook(bytes: Buffer): Promise<exceljs.Workbook> {
  const workbook = new exceljs.Workbook();
  // The library's buffer type is older than Node's.
  await workbook.xlsx.load(new Uint8Array(bytes).buffer);
  return workbook;
}

/** Reads the rows of each sheet with hucre. */
export async function readRows(bytes: Buffer): Promise<unknown[][][]> {
  const workbook = await readXlsx(new Uint8Array(bytes));
  return workbook.sheets.map((sheet) => sheet.rows);
}

/** The parts of a package by name. */
export async function readParts(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await fromBufferPromise(bytes);
  const parts = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    parts.set(entry.fileName, Buffer.concat(chunks));
  }
  return parts;
}
