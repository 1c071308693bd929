import { toCellContent, plainText } from "../content.ts";
import { columnName } from "../columns.ts";
import { SHEET_LIMITS } from "../limits.ts";
import { isRiskyText } from "../riskyText.ts";
import type { NoteKind, TableNotes } from "../tableNotes.ts";
import type { CellValue, FieldKind, ImageValue } from "../values.ts";
import { textElement, xmlText } from "../xmlText.ts";
import { Edits } from "./edits.ts";
import type { FormulaParts } from "./formulas.ts";
import { joinFormula } from "./formulas.ts";
import type { Piece } from "./placeholders.ts";
import { onlyField, parsePlaceholders } from "./placeholders.ts";
import type { SheetCell, SheetModel, TextRun } from "./sheetModel.ts";
import type { StyleRegistry } from "./styleRegistry.ts";
import { attribute } from "./xmlTree.ts";

/** A record's values by field; a missing field is empty. */
export type TemplateRecord = Readonly<Record<string, CellValue | ImageValue>>;

/** The data shared by all cells of a workbook that is filled. */
export interface FillContext {
  readonly fields: ReadonlyMap<string, FieldKind>;
  readonly styles: StyleRegistry;
  readonly date1904: boolean;
  /** Collects notes on values that a cell cannot hold. */
  readonly notes: TableNotes;
  /** Adds a picture to a cell for the record `index` (from 0); false when it is not a valid picture. */
  readonly addPicture: (
    model: SheetModel,
    cell: SheetCell,
    image: ImageValue,
    index: number,
  ) => boolean;
}

/** Writes one cell for a record in the given row. */
export type CellWriter = (row: number, record: TemplateRecord, index: number) => string;

/** Creates the writer of a cell with placeholders. */
export function makeFilledCellWriter(
  model: SheetModel,
  cell: SheetCell,
  context: FillContext,
): CellWriter {
  const { part } = model;
  const { prefix } = cell.element;
  const column = columnName(cell.column);
  const style = Number(attribute(part, cell.element, "s") ?? 0);
  const runs = cell.runs ?? [];
  const { pieces } = parsePlaceholders(runs.map(({ text }) => text).join(""));
  const whole = onlyField(pieces);
  const open = (row: number, used: number, type = "") =>
    `<${prefix}c r="${column}${row}"${used === 0 ? "" : ` s="${used}"`}${type === "" ? "" : ` t="${type}"`}`;
  const textCell = (row: number, texts: readonly TextRun[]) => {
    const full = texts.map(({ text }) => text).join("");
    if (full === "") return `${open(row, style)}/>`;
    const used = isRiskyText(full) ? context.styles.forQuotedText(style) : style;
    return `${open(row, used, "inlineStr")}><${prefix}is>${runsXml(texts, prefix)}</${prefix}is></${prefix}c>`;
  };
  const note = (kind: NoteKind, row: number) => {
    const title = pieces.flatMap((piece) => ("field" in piece ? [piece.field] : [])).join(", ");
    const place = () => `${model.name}!${column}${row}`;
    context.notes.add(`${model.name} ${title}`, title, kind, place);
  };
  if (whole === null) {
    const spread = spreadOverRuns(runs, pieces);
    return (row, record) => {
      const texts = spread.map(({ format, pieces: own }) => ({
        format,
        text: own.map((piece) => textOf(piece, record, context)).join(""),
      }));
      if (lengthOf(texts) > SHEET_LIMITS.cellText) note("cut", row);
      else if (!texts.every(({ text }) => text.isWellFormed())) note("halfPair", row);
      return textCell(row, cutRuns(texts));
    };
  }
  const kind = context.fields.get(whole) ?? "text";
  const format = runs.find(({ text }) => text.includes("{{"))?.format ?? "";
  return (row, record, index) => {
    const value = record[whole];
    if (isImage(value)) {
      if (!context.addPicture(model, cell, value, index)) note("notPicture", row);
      return `${open(row, style)}/>`;
    }
    const content = toCellContent(value, kind === "image" ? "text" : kind, context.date1904);
    if (content.note !== undefined) note(content.note, row);
    switch (content.type) {
      case "empty":
        return `${open(row, style)}/>`;
      case "text":
        return textCell(row, [{ format, text: content.value }]);
      case "boolean":
        return `${open(row, style, "b")}><${prefix}v>${content.value ? 1 : 0}</${prefix}v></${prefix}c>`;
      case "serial":
        return `${open(row, context.styles.forDate(style, kind !== "date"))}><${prefix}v>${content.value}</${prefix}v></${prefix}c>`;
      case "number":
        return `${open(row, style)}><${prefix}v>${content.value}</${prefix}v></${prefix}c>`;
    }
  };
}

/** Creates the writer of a cell without placeholders in the repeated rows; only its position and formula change. */
export function makeRepeatedCellWriter(
  model: SheetModel,
  cell: SheetCell,
  formula: FormulaParts | null,
  height: number,
  mark: (row: number) => string,
): CellWriter {
  const { part } = model;
  const edits = new Edits(part);
  edits.setAttributeXml(cell.element, "r", `${columnName(cell.column)}${ROW}`);
  if (formula && cell.formula) {
    const isArray = attribute(part, cell.formula, "t") === "array";
    if (isArray) edits.setAttributeXml(cell.formula, "ref", `${columnName(cell.column)}${ROW}`);
    else for (const name of ["t", "si", "ref"]) edits.removeAttribute(cell.formula, name);
    edits.removeAttribute(cell.element, "t");
    for (const child of cell.element.children) if (child.local === "v") edits.remove(child);
    edits.setContent(cell.formula, FORMULA);
  }
  const escaped = formula?.map((piece) => (typeof piece === "string" ? xmlText(piece) : piece));
  const pieces = edits.apply(cell.element.start, cell.element.end).split(HOLES);
  return (row, _record, index) =>
    pieces
      .map((piece) => {
        if (piece === ROW) return String(row);
        return piece === FORMULA ? joinFormula(escaped ?? [], height, index, mark) : piece;
      })
      .join("");
}

// Control characters as markers, because XML cannot contain them.
const ROW = "\u0001";
const FORMULA = "\u0002";
// eslint-disable-next-line no-control-regex -- the markers are control characters
const HOLES = /([\u0001\u0002])/;

export function isImage(value: CellValue | ImageValue | undefined): value is ImageValue {
  return typeof value === "object" && value !== null && "bytes" in value;
}

/** Assigns text pieces to runs. A placeholder that is split over runs takes the format of its first character. */
function spreadOverRuns(
  runs: readonly TextRun[],
  pieces: readonly Piece[],
): { format: string; pieces: Piece[] }[] {
  const full = runs.map(({ text }) => text).join("");
  const spread = runs.map(({ format }) => ({ format, pieces: [] as Piece[] }));
  let run = 0;
  let end = runs[0]?.text.length ?? 0;
  let at = 0;
  // Searches forward only, because there may be as many runs as characters.
  const findRun = () => {
    while (at >= end && run < runs.length) end += runs[++run]?.text.length ?? 0;
  };
  for (const piece of pieces) {
    findRun();
    if ("field" in piece) {
      spread[run]?.pieces.push(piece);
      at = full.indexOf("}}", at) + 2;
      continue;
    }
    const to = at + piece.text.length;
    while (at < to) {
      const next = Math.min(to, end);
      spread[run]?.pieces.push({ text: full.slice(at, next) });
      at = next;
      findRun();
    }
  }
  return spread;
}

function textOf(piece: Piece, record: TemplateRecord, { fields }: FillContext): string {
  if ("text" in piece) return piece.text;
  const value = record[piece.field];
  const kind = fields.get(piece.field) ?? "text";
  return isImage(value) || kind === "image" ? "" : plainText(value, kind);
}

function lengthOf(runs: readonly TextRun[]): number {
  return runs.reduce((length, { text }) => length + text.length, 0);
}

/** Truncates the runs to the capacity of a cell. */
function cutRuns(runs: readonly TextRun[]): TextRun[] {
  let left: number = SHEET_LIMITS.cellText;
  return runs.map(({ format, text }) => {
    const last = text.charCodeAt(left - 1);
    const cut =
      text.length <= left ? text : text.slice(0, left - (last >= 0xd800 && last <= 0xdbff ? 1 : 0));
    left -= cut.length;
    return { format, text: cut };
  });
}

function runsXml(runs: readonly TextRun[], prefix: string): string {
  const shown = runs.filter(({ text }) => text !== "");
  const [first] = shown;
  if (shown.length === 1 && first?.format === "") return textElement(first.text, prefix);
  return shown
    .map(({ format, text }) => {
      // The format comes from the shared strings part, whose namespace prefix may differ.
      const own = format.startsWith(`<${prefix}rPr`) ? format : "";
      return `<${prefix}r>${own}${textElement(text, prefix)}</${prefix}r>`;
    })
    .join("");
}
