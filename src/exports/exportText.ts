import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { CellKind, CellValue } from "../xlsx/values.ts";
import { pacer } from "../xlsx/pacer.ts";

/** A table as lines of text. */
export interface TextTable {
  columns: readonly { field: string; title: string; kind: CellKind }[];
  rows: AsyncIterable<readonly CellValue[]>;
  /** Ended when all is written, destroyed when anything fails. */
  output: Writable;
  signal: AbortSignal;
}

// The list of OWASP: spreadsheets take a cell that begins so for a formula, full-width forms included.
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** Writes CSV as RFC 4180 has it, with a byte order mark, by which Excel knows UTF-8. Returns how many rows there are. */
export async function writeCsv({ columns, rows, output, signal }: TextTable): Promise<number> {
  const { format } = await import("@fast-csv/format");
  const csv = format({
    headers: columns.map(({ title }) => withoutFormula(title)),
    alwaysWriteHeaders: true,
    includeEndRowDelimiter: true,
    rowDelimiter: "\r\n",
  });
  let count = 0;
  async function* lines() {
    const pause = pacer();
    for await (const row of rows) {
      await pause();
      count++;
      yield columns.map(({ kind }, index) => csvCell(row[index], kind));
    }
  }
  // The library leaves it out of a file without rows.
  output.write("\ufeff");
  await pipeline(lines, csv, output, { signal });
  return count;
}

function csvCell(value: CellValue | undefined, kind: CellKind): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return kind === "text" || kind === "url" ? withoutFormula(String(value)) : String(value);
}

function withoutFormula(text: string): string {
  return formula.test(text) ? `'${text}` : text;
}

/** Writes one JSON object a line, with values as the API gives them. Returns how many rows there are. */
export async function writeJsonLines(table: TextTable): Promise<number> {
  const { columns, rows, output, signal } = table;
  let count = 0;
  async function* lines() {
    const pause = pacer();
    for await (const row of rows) {
      await pause();
      count++;
      const entries = columns.map(({ field }, index) => [field, jsonValue(row[index])]);
      yield `${JSON.stringify(Object.fromEntries(entries))}\n`;
    }
  }
  await pipeline(lines, output, { signal });
  return count;
}

/** Decimals are texts already; integers that a JavaScript number cannot hold become texts, as the API's BigInt. */
function jsonValue(value: CellValue | undefined): CellValue {
  return typeof value === "bigint" ? String(value) : (value ?? null);
}
