import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import { findProgram } from "./programs.ts";

const run = promisify(execFile);

const soffice = findProgram("soffice");
if (soffice === null)
  console.warn("LibreOffice is not installed: tests that open workbooks with it are skipped");

/** A test that is skipped without LibreOffice. */
export const testWithLibreOffice = soffice === null ? test.skip : test;

/** The displayed rows of each sheet, by name, as LibreOffice calculates them. */
export async function openedByLibreOffice(workbook: Buffer): Promise<Map<string, string[][]>> {
  const folder = await mkdtemp(join(tmpdir(), "libreoffice-test-"));
  try {
    await writeFile(join(folder, "book.xlsx"), workbook);
    // UTF-8, all cells as text, one file per sheet.
    const filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1";
    await run(soffice ?? "soffice", [
      `-env:UserInstallation=file://${folder}/profile`,
      "--headless",
      "--convert-to",
      filter,
      "--outdir",
      folder,
      join(folder, "book.xlsx"),
    ]);
    const sheets = new Map<string, string[][]>();
    for (const file of await readdir(folder)) {
      const name = /^book-(.*)\.csv$/.exec(file)?.[1];
      if (name === undefined) continue;
      const text = await readFile(join(folder, file), "utf8");
      sheets.set(name, parse(text, { relax_column_count: true }));
    }
    return sheets;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
