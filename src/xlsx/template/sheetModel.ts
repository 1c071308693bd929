import { pacer } from "../pacer.ts";
import { SHEET_LIMITS } from "../limits.ts";
import type { CellPlace, CellRange } from "./a1.ts";
import { parseCell, parseRange } from "./a1.ts";
import { fileProblem } from "./problems.ts";
import type { SheetPart, Workbook } from "./workbook.ts";
import type { XmlElement, XmlPart } from "./xmlTree.ts";
import { attribute, child } from "./xmlTree.ts";

/** A run of text with one format; `format` is its `<rPr>` element, or empty. */
export interface TextRun {
  readonly format: string;
  readonly text: string;
}

export interface SheetCell extends CellPlace {
  readonly element: XmlElement;
  /** The cell's text; null for numbers, formulas and so on. */
  readonly runs: readonly TextRun[] | null;
  readonly formula: XmlElement | null;
}

export interface SheetRow {
  readonly element: XmlElement;
  readonly row: number;
  readonly cells: readonly SheetCell[];
}

export interface SheetModel {
  readonly name: string;
  readonly partName: string;
  readonly part: XmlPart;
  readonly data: XmlElement;
  readonly rows: readonly SheetRow[];
  readonly merges: readonly CellRange[];
}

/** Parses the cells and merged ranges of a sheet; rows and cells without a number follow the previous one. */
export async function readSheet(workbook: Workbook, sheet: SheetPart): Promise<SheetModel> {
  const part = await workbook.xml(sheet.part);
  const shared = await sharedStrings(workbook);
  const data = child(part.root, "sheetData");
  if (!data) throw new Error(`The sheet ${sheet.name} has no cells`);
  let lastRow = 0;
  const pause = pacer();
  const rows: SheetRow[] = [];
  for (const element of data.children) {
    await pause();
    const row = Number(attribute(part, element, "r") ?? lastRow + 1);
    if (!isIn(row, SHEET_LIMITS.rows)) throw outside(sheet.name);
    lastRow = row;
    let lastColumn = 0;
    const cells = element.children
      .filter(({ local }) => local === "c")
      .map((cell) => {
        const place = parseCell(attribute(part, cell, "r") ?? "") ?? {
          row,
          column: lastColumn + 1,
        };
        if (!isIn(place.column, SHEET_LIMITS.columns)) throw outside(sheet.name);
        lastColumn = place.column;
        return { ...place, row, element: cell, ...contentOf(part, cell, shared) };
      });
    rows.push({ element, row, cells });
  }
  const merges = (child(part.root, "mergeCells")?.children ?? []).flatMap((merge) => {
    const range = parseRange(attribute(part, merge, "ref") ?? "");
    if (!range) return [];
    const { top, left, bottom, right } = range;
    if (top < 1 || left < 1 || bottom > SHEET_LIMITS.rows || right > SHEET_LIMITS.columns)
      throw outside(sheet.name);
    return [range];
  });
  return { name: sheet.name, partName: sheet.part, part, data, rows, merges };
}

function isIn(number: number, last: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= last;
}

function outside(sheet: string): Error {
  return fileProblem(
    `The sheet ${sheet} has a cell or merged range outside of its rows and columns`,
  );
}

function contentOf(
  part: XmlPart,
  cell: XmlElement,
  shared: readonly (readonly TextRun[])[],
): Pick<SheetCell, "runs" | "formula"> {
  const formula = child(cell, "f") ?? null;
  if (formula) return { formula, runs: null };
  const value = child(cell, "v");
  switch (attribute(part, cell, "t")) {
    case "s":
      return { formula, runs: (value && shared[Number(value.text)]) ?? null };
    case "inlineStr": {
      const inline = child(cell, "is");
      return { formula, runs: inline ? runsOf(part, inline) : null };
    }
    case "str":
      return { formula, runs: value ? [{ format: "", text: unescapeText(value.text) }] : null };
    default:
      return { formula, runs: null };
  }
}

async function sharedStrings(workbook: Workbook): Promise<(readonly TextRun[])[]> {
  const relation = (await workbook.relations(workbook.main)).find(
    ({ type }) => type === "sharedStrings",
  );
  if (!relation || !workbook.parts.has(relation.target)) return [];
  const part = await workbook.xml(relation.target);
  const known = sharedOf.get(part) ?? part.root.children.map((item) => runsOf(part, item));
  sharedOf.set(part, known);
  return known;
}

/** Cached, because each sheet needs the shared strings. */
const sharedOf = new WeakMap<XmlPart, (readonly TextRun[])[]>();

/** The runs of an `<si>` or `<is>` element. */
function runsOf(part: XmlPart, item: XmlElement): TextRun[] {
  return item.children.flatMap((element) => {
    if (element.local === "t") return [{ format: "", text: unescapeText(element.text) }];
    if (element.local !== "r") return [];
    const format = child(element, "rPr");
    return [
      {
        format: format ? part.source.slice(format.start, format.end) : "",
        text: unescapeText(child(element, "t")?.text ?? ""),
      },
    ];
  });
}

/** Excel encodes characters that XML forbids as `_xHHHH_`. */
function unescapeText(text: string): string {
  return text.replace(/_x([0-9a-f]{4})_/gi, (_whole, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
}
