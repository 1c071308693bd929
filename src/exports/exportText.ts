import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { CellKind, CellValue } from "../xlsx/values.ts";
import { pacer } from "../xlsx/pacer.ts";

/** A table written as lines of text. */
export interface TextTable {
  columns: readonly { field: string; title: string; kind: CellKind }[];
  rows: AsyncIterable<readonly CellValue[]>;
  /** Ended after the last line; destroyed on errors. */
  output: Writable;
  signal: AbortSignal;
}

// OWASP's list of prefixes, with full-width forms: spreadsheets evaluate such cells as formulas.
const formulaPrefix = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** Writes CSV (RFC 4180) with a byte order mark, by which Excel recognizes UTF-8. Returns the number of rows. */
export async function writeCsv({ columns, rows, output, signal }: TextTable): Promise<number> {
  const { format } = await import("@fast-csv/format");
  const csv = format({
    headers: columns.map(({ title }) => escapeFormula(title)),
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
  // The library omits the byte order mark when there are no rows.
  output.write("\ufeff");
  await pipeline(lines, csv, output, { signal });
  return count;
}

function csvCell(value: CellValue | undefined, kind: CellKind): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  const isText = kind === "text" || kind === "url" || kind === "json";
  return isText ? escapeFormula(String(value)) : String(value);
}

function escapeFormula(text: string): string {
  return formulaPrefix.test(text) ? `'${text}` : text;
}

/** Writes one JSON object per line, with values as in the API. Returns the number of rows. */
export async function writeJsonLines(table: TextTable): Promise<number> {
  const { columns, rows, output, signal } = table;
  // Of two columns with the same field, the last counts.
  const places = new Map(columns.map(({ field }, index) => [field, index]));
  let count = 0;
  async function* lines() {
    const pause = pacer();
    for await (const row of rows) {
      await pause();
      count++;
      const entries = [...places].map(
        ([field, index]) =>
          `${JSON.stringify(field)}:${jsonText(row[index], columns[index]?.kind)}`,
      );
      yield `{${entries.join(",")}}\n`;
    }
  }
  await pipeline(lines, output, { signal });
  return count;
}

/** Decimals are strings already; integers beyond JavaScript's safe range become strings, like the API's BigInt. */
function jsonText(value: CellValue | undefined, kind: CellKind | undefined): string {
  // Parsing it would lose digits of numbers.
  if (kind === "json" && typeof value === "string") return value;
  return JSON.stringify(typeof value === "bigint" ? String(value) : (value ?? null));
}
