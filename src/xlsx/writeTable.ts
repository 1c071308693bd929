import type { Writable } from "node:stream";
import { Readable } from "node:stream";
import { toByteStream } from "./toByteStream.ts";
import { rowCursor } from "./rowCursor.ts";
import { SHEET_LIMITS } from "./limits.ts";
import { numberFormatProblem } from "./numberFormat.ts";
import { toSheetName } from "./sheetNames.ts";
import { sheetXml } from "./tableSheet.ts";
import { TableNotes } from "./tableNotes.ts";
import type { DocumentProperties, WrittenSheet } from "./tableParts.ts";
import { linkRelations, tableParts } from "./tableParts.ts";
import { tableStyles } from "./tableStyles.ts";
import type { CellValue, TableColumn } from "./values.ts";
import { writeZip } from "./writeZip.ts";

export interface TableOptions {
  readonly sheetName: string;
  readonly columns: readonly TableColumn[];
  /** Values in column order; a missing value is an empty cell. */
  readonly rows: AsyncIterable<readonly CellValue[]>;
  /** Ended after the last part; destroyed on errors. */
  readonly output: Writable;
  readonly signal: AbortSignal;
  readonly properties?: DocumentProperties;
  /** Rows per sheet including the header; by default Excel's maximum. */
  readonly rowsPerSheet?: number;
}

/**
 * Streams a workbook with one table: a bold, frozen header with a filter, typed cells, and another sheet when one is
 * full. Memory use is independent of the number of rows; rows are read with backpressure.
 *
 * @returns the number of rows, and notes for users on values that a cell cannot hold
 * @throws RangeError for no or too many columns or an invalid number format; the signal's reason when aborted
 */
export async function writeTable(
  options: TableOptions,
): Promise<{ rows: number; notes: string[] }> {
  const { columns, output, signal } = options;
  const rowsPerSheet = options.rowsPerSheet ?? SHEET_LIMITS.rows;
  try {
    signal.throwIfAborted();
    refuseColumns(columns);
    if (rowsPerSheet < 2 || rowsPerSheet > SHEET_LIMITS.rows)
      throw new RangeError(`A sheet holds 2 to ${SHEET_LIMITS.rows} rows`);
  } catch (error) {
    // Destroyed without the error: it may have no listener yet, and the promise reports the error.
    output.destroy();
    throw error;
  }
  const styles = tableStyles(columns);
  const notes = new TableNotes();
  const rows = rowCursor(options.rows, signal);
  try {
    return await writeZip(output, signal, async (parts) => {
      const sheets: WrittenSheet[] = [];
      let written = 0;
      do {
        const name = toSheetName(
          options.sheetName,
          sheets.map((sheet) => sheet.name),
        );
        const sheet = { name, rows: 1 };
        const links: string[] = [];
        sheets.push(sheet);
        const xml = sheetXml({
          columns,
          styles,
          sheet,
          links,
          rows,
          notes,
          rowsPerSheet,
          first: sheets.length === 1,
        });
        await parts.addStream(
          `xl/worksheets/sheet${sheets.length}.xml`,
          Readable.from(xml, { objectMode: false, highWaterMark: 256 * 1024 }),
        );
        if (links.length > 0)
          await parts.addStream(
            `xl/worksheets/_rels/sheet${sheets.length}.xml.rels`,
            toByteStream(linkRelations(links)),
          );
        written += sheet.rows - 1;
      } while (await rows.more());
      for (const [name, text] of tableParts(
        sheets,
        columns.length,
        styles.xml,
        options.properties ?? {},
      ))
        parts.addText(name, text);
      return { rows: written, notes: notes.list() };
    });
  } finally {
    rows.close();
  }
}

function refuseColumns(columns: readonly TableColumn[]): void {
  if (columns.length === 0) throw new RangeError("A table needs at least one column");
  if (columns.length > SHEET_LIMITS.columns)
    throw new RangeError(
      `A sheet holds at most ${SHEET_LIMITS.columns} columns, not ${columns.length}`,
    );
  for (const { title, numberFormat, width } of columns) {
    const problem = numberFormat === undefined ? null : numberFormatProblem(numberFormat);
    if (problem !== null) throw new RangeError(`Column ${title}: ${problem}`);
    if (width !== undefined && !(width > 0 && width <= SHEET_LIMITS.columnWidth))
      throw new RangeError(
        `Column ${title}: the width is more than 0 and at most ${SHEET_LIMITS.columnWidth} characters`,
      );
  }
}
