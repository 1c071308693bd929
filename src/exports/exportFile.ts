import { PassThrough } from "node:stream";
import type pg from "pg";
import type { FileStore } from "../gateways/files.ts";
import { PictureError } from "../gateways/pictures.ts";
import type { Pictures } from "../gateways/pictures.ts";
import { TemplateError } from "../xlsx/template/problems.ts";
import type { CellValue, FieldKind, ImageValue } from "../xlsx/values.ts";
import { writeTable } from "../xlsx/writeTable.ts";
import { exportForm } from "./exportForm.ts";
import type { ExportColumn } from "./exportRows.ts";
import { exportRows } from "./exportRows.ts";
import type { TextTable } from "./exportText.ts";
import { writeCsv, writeJsonLines } from "./exportText.ts";
import { localTimes } from "./localTimes.ts";
import type { JobPrincipal } from "../workers/queue/queryAsPrincipal.ts";

/** The formats that this release can write; `begin_export` rejects others. */
export const exportFormats = ["xlsx", "csv", "jsonl"] as const;

/** An attempt at an export, as `begin_export` returns it. */
export interface ExportAttempt extends JobPrincipal {
  attempt: number;
  failures: number;
  format: (typeof exportFormats)[number];
  /** The key of the file in the object store. */
  key: string;
  source: string;
  kind: "FORM" | "TABLE";
  workbookKey: string | null;
  totalRows: number;
  /** The time zone of the user, for the timestamps of workbooks. */
  timeZone: string;
  query: string;
  /** The parameters of the query of a list; null for an export of products. */
  values: unknown[] | null;
  columns: ExportColumn[];
}

/** A permanent failure whose message users may read. */
export class ExportProblem extends Error {
  override name = "ExportProblem";
}

export interface ExportFileOptions {
  exportId: string;
  begun: ExportAttempt;
  client: pg.ClientBase;
  files: FileStore;
  pictures: Pictures;
  signal: AbortSignal;
  /** Called for each row read. */
  onRow: () => void;
}

/** Writes an export's file from the rows that `client` can see. Returns row count, size and notes for the reader. */
export async function writeExportFile(
  parts: ExportFileOptions,
): Promise<{ rows: number; size: number; notes: string[] }> {
  const { begun, files, signal: stopped } = parts;
  // A failure of the writer stops the upload and vice versa.
  const failed = new AbortController();
  const signal = AbortSignal.any([stopped, failed.signal]);
  const output = new PassThrough({ highWaterMark: 1024 * 1024 });
  const fail = (error: unknown): never => {
    if (!failed.signal.aborted) failed.abort(error);
    throw error;
  };
  const [written, uploaded] = await Promise.allSettled([
    writeContent({ ...parts, signal }, output).catch(fail),
    files.write(begun.key, output, signal).catch(fail),
  ]);
  stopped.throwIfAborted();
  failed.signal.throwIfAborted();
  if (written.status === "rejected" || uploaded.status === "rejected")
    throw new Error("The export failed without an error");
  return { ...written.value, size: uploaded.value };
}

async function writeContent(
  parts: ExportFileOptions,
  output: PassThrough,
): Promise<{ rows: number; notes: string[] }> {
  const { begun, signal } = parts;
  const notes = hiddenFields(begun);
  const rows = read(parts);
  let written: { rows: number; notes: string[] };
  if (begun.kind === "TABLE" && begun.workbookKey === null) {
    written = await writeColumns(begun, { rows, output, signal });
  } else {
    const template =
      begun.workbookKey === null
        ? await exportForm(begun.source, begun.columns)
        : await parts.files.read(begun.workbookKey, signal);
    const fields = new Map(begun.columns.map((column) => [column.field, kindOf(column)]));
    const records = toRecords(parts, rows, notes);
    const { fillTemplate } = await import("../xlsx/template/fillTemplate.ts");
    written = await fillTemplate({
      ...{ template, kind: begun.kind, fields, rows: records },
      ...{ output, signal },
    }).catch((error: unknown) => {
      // The workbook was checked at upload, so a retry would fail in the same way.
      throw error instanceof TemplateError
        ? new ExportProblem(`The template cannot be filled: ${error.message}`, { cause: error })
        : error;
    });
  }
  const missing = begun.totalRows - written.rows;
  // Exports of lists have no fixed set of rows: the search runs when the file is written.
  if (missing > 0 && begun.values === null)
    notes.push(
      missing === 1
        ? "One product is missing: it was deleted after the export was requested"
        : `${missing} products are missing: they were deleted after the export was requested`,
    );
  return { rows: written.rows, notes: [...notes, ...written.notes] };
}

async function writeColumns(
  { format, source, columns: chosen }: ExportAttempt,
  rest: Pick<TextTable, "rows" | "output" | "signal">,
): Promise<{ rows: number; notes: string[] }> {
  const columns = chosen.map(({ field, title, width, numberFormat, kind }) => ({
    ...{ field, title },
    kind: kind.toLowerCase() as Exclude<FieldKind, "image">,
    ...(width !== null && { width }),
    ...(numberFormat !== null && { numberFormat }),
  }));
  if (format === "xlsx") return writeTable({ sheetName: source, columns, ...rest });
  const write = format === "csv" ? writeCsv : writeJsonLines;
  return { rows: await write({ columns, ...rest }), notes: [] };
}

async function* read({
  exportId,
  begun,
  client,
  signal,
  onRow,
}: ExportFileOptions): AsyncGenerator<CellValue[]> {
  const kinds = begun.columns.map(kindOf);
  // In CSV and JSONL, timestamps include their time zone, UTC.
  const local = begun.format === "xlsx" ? localTimes(begun.timeZone) : null;
  let any = false;
  const statement = { text: begun.query, values: begun.values ?? [exportId] };
  for await (const row of exportRows(client, statement, kinds)) {
    signal.throwIfAborted();
    any = true;
    onRow();
    yield local ? row.map((value) => (value instanceof Date ? local(value) : value)) : row;
  }
  if (!any && begun.values !== null) throw new ExportProblem("No row matches any more");
  if (!any)
    throw new ExportProblem(
      begun.totalRows === 1
        ? "The product was deleted before the export ran"
        : "The products were deleted before the export ran",
    );
}

async function* toRecords(
  { begun, pictures, signal }: ExportFileOptions,
  rows: AsyncIterable<CellValue[]>,
  notes: string[],
): AsyncGenerator<Record<string, CellValue | ImageValue>> {
  for await (const row of rows) {
    const record: Record<string, CellValue | ImageValue> = {};
    for (const [index, { field, kind, title }] of begun.columns.entries()) {
      const value = row[index] ?? null;
      record[field] =
        kind === "IMAGE" && value !== null ? await picture(String(value), title) : value;
    }
    yield record;
  }

  async function picture(address: string, title: string): Promise<ImageValue | null> {
    try {
      return await pictures.fetch(address, signal);
    } catch (error) {
      if (!(error instanceof PictureError)) throw error;
      notes.push(`${title}: left empty, ${error.message}`);
      return null;
    }
  }
}

function kindOf({ kind }: ExportColumn): FieldKind {
  return kind.toLowerCase() as FieldKind;
}

function hiddenFields({ columns }: ExportAttempt): string[] {
  const titles = columns.filter(({ hidden }) => hidden).map(({ title }) => title);
  if (titles.length === 0) return [];
  return [`Left empty for lack of permission: ${titles.join(", ")}`];
}
