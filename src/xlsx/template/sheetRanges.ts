import { SHEET_LIMITS } from "../limits.ts";
import { pacer } from "../pacer.ts";
import type { CellPlace, CellRange } from "./a1.ts";
import { cellName, parseCell, parseRange, rangeName } from "./a1.ts";
import { Edits } from "./edits.ts";
import type { MoveContext } from "./moveContext.ts";
import { movedFormula } from "./moveContext.ts";
import { fileProblem } from "./problems.ts";
import type { RowMove } from "./rowMove.ts";
import { heightOf, isPartial, moveRow, moveRows, sideOf } from "./rowMove.ts";
import type { SheetModel } from "./sheetModel.ts";
import type { XmlElement } from "./xmlTree.ts";
import { attribute, child, walk } from "./xmlTree.ts";

/** Elements whose meaning would change if their ranges contained only some of the repeated rows. */
const STRICT = new Set(["conditionalFormatting", "dataValidation", "autoFilter", "protectedRange"]);
const RANGES = ["ref", "sqref"] as const;
const CELLS = ["activeCell", "topLeftCell"] as const;
/** The limit for a filled sheet; with more, Excel takes minutes. */
const MAX_MERGES = 1_000_000;
const CANNOT_MOVE: Readonly<Record<string, string>> = {
  controls: "Form controls on a sheet with repeated rows cannot be moved: remove them",
  scenarios: "Scenarios on a sheet with repeated rows cannot be moved: remove them",
};

/** Moves a sheet's ranges: merged ranges, formats, validations, links, filters, breaks and views. */
export function moveSheetRanges(edits: Edits, model: SheetModel, context: MoveContext): void {
  const { part } = model;
  const { move } = context;
  for (const section of part.root.children) {
    if (section === model.data) continue;
    walk(section, (element) => {
      moveFormulasOf(edits, model, element, context);
      if (!move || move.sheet !== model.name) return true;
      const reason = CANNOT_MOVE[element.local];
      if (reason !== undefined) context.report(model.name, null, reason);
      if (element.local === "mergeCells" || element.local === "hyperlinks") {
        repeatRanges(edits, model, element, context, move);
        return element.local === "hyperlinks";
      }
      if (element.local === "hyperlink") return true;
      if (element.local === "brk" && section.local === "rowBreaks") moveBreak(edits, element, move);
      for (const name of CELLS) {
        const cell = parseCell(attribute(part, element, name) ?? "");
        if (cell)
          edits.setAttribute(element, name, cellName({ ...cell, row: moveRow(cell.row, move) }));
      }
      for (const name of RANGES) {
        const value = attribute(part, element, name);
        if (value === undefined) continue;
        edits.setAttribute(element, name, movedList(value, element.local, model, context, move));
      }
      if (element.local === "sqref" && element.children.length === 0) {
        if (element.parent?.local === "sparkline" && touchesRows(element.text, move))
          context.report(
            model.name,
            element.text,
            "A sparkline in repeated rows cannot be repeated: remove it",
          );
        edits.setText(
          element,
          movedList(element.text, "conditionalFormatting", model, context, move),
        );
      }
      return true;
    });
  }
}

/** A list of ranges (`A1:B2 D4`) after the move. */
function movedList(
  list: string,
  owner: string,
  model: SheetModel,
  context: MoveContext,
  move: RowMove,
): string {
  return list
    .split(/\s+/)
    .map((text) => {
      const range = parseRange(text);
      if (!range) return text;
      if (STRICT.has(owner) && isPartial(range.top, range.bottom, move))
        context.report(
          model.name,
          text,
          `${NAMES[owner] ?? "A range"} contains some of the repeated rows (${move.first} to ${move.last}) but not all`,
        );
      return rangeName(movedRange(range, move));
    })
    .join(" ");
}

const NAMES: Readonly<Record<string, string>> = {
  conditionalFormatting: "A conditional format",
  dataValidation: "A data validation",
  autoFilter: "A filter",
  protectedRange: "A protected range",
};

export function movedRange(range: CellRange, move: RowMove): CellRange {
  return { ...range, ...moveRows(range.top, range.bottom, move) };
}

function touchesRows(list: string, move: RowMove): boolean {
  return list.split(/\s+/).some((text) => {
    const range = parseRange(text);
    return range !== null && range.bottom >= move.first && range.top <= move.last;
  });
}

/** Copies merged ranges and hyperlinks of the repeated rows for each record. */
function repeatRanges(
  edits: Edits,
  model: SheetModel,
  list: XmlElement,
  context: MoveContext,
  move: RowMove,
): void {
  const { part } = model;
  const height = heightOf(move);
  const { first, last } = move;
  if (list.local === "mergeCells") {
    const inside = model.merges.filter(({ top, bottom }) => top >= first && bottom <= last);
    if (inside.length * context.records > MAX_MERGES)
      throw fileProblem(
        `The repeated rows hold ${inside.length} merged ranges, which for ${context.records} records are more than ${MAX_MERGES}`,
      );
  }
  const copies: string[] = [];
  let count = list.children.length;
  for (const element of list.children) {
    const range = parseRange(attribute(part, element, "ref") ?? "");
    if (!range) continue;
    const isInside = range.top >= move.first && range.bottom <= move.last;
    const isMerge = list.local === "mergeCells";
    const what = isMerge ? "A merged range" : "A hyperlink";
    if (!isInside) {
      const crosses = range.bottom >= move.first && range.top <= move.last;
      if (crosses && (isPartial(range.top, range.bottom, move) || range.top >= move.first))
        context.report(
          model.name,
          rangeName(range),
          `${what} reaches out of the repeated rows (${move.first} to ${move.last})`,
        );
      edits.setAttribute(element, "ref", rangeName(movedRange(range, move)));
      continue;
    }
    for (let index = 1; index < context.records; index++) {
      const by = index * height;
      const name = rangeName({ ...range, top: range.top + by, bottom: range.bottom + by });
      if (!isMerge && count >= SHEET_LIMITS.hyperlinks) break;
      copies.push(copyOf(model, element, name, context));
      count++;
    }
  }
  if (copies.length > 0) edits.append(list, copies.join(""));
  if (attribute(part, list, "count") !== undefined)
    edits.setAttribute(list, "count", String(count));
}

/** Copies an element for another range, without attributes that must be unique in a sheet. */
function copyOf(model: SheetModel, element: XmlElement, ref: string, context: MoveContext): string {
  const { part } = model;
  const edits = new Edits(part);
  edits.setAttribute(element, "ref", ref);
  edits.removeAttribute(element, "xr:uid");
  moveFormulasOf(edits, model, element, context);
  return edits.apply(element.start, element.end);
}

function moveBreak(edits: Edits, element: XmlElement, move: RowMove): void {
  const row = Number(attribute(edits.part, element, "id"));
  // A page break follows its row; one after the last repeated row moves.
  if (row >= move.last) edits.setAttribute(element, "id", String(row + move.delta));
}

/** Moves the formulas of conditional formats, validations and sparklines, and the locations of hyperlinks. */
function moveFormulasOf(
  edits: Edits,
  model: SheetModel,
  element: XmlElement,
  context: MoveContext,
): void {
  const { part, name: sheet } = model;
  if (element.local === "hyperlink") {
    const location = attribute(part, element, "location");
    if (location !== undefined)
      edits.setAttribute(
        element,
        "location",
        movedFormula(context, location, { sheet, cell: null, use: "fixed" }, "A hyperlink"),
      );
    return;
  }
  const isRule = element.local === "cfvo" && attribute(part, element, "type") === "formula";
  const isFormula =
    /^(?:formula|formula1|formula2|f)$/.test(element.local) && element.children.length === 0;
  if (!isRule && !isFormula) return;
  const base = baseOf(model, element);
  const { move } = context;
  const inRows =
    base !== null && move !== null && move.sheet === sheet && sideOf(base.row, move) === "repeated";
  const use = element.parent?.local === "sparkline" ? "series" : inRows ? "spread" : "fixed";
  const place = { sheet, cell: base, use } as const;
  if (isRule)
    edits.setAttribute(
      element,
      "val",
      movedFormula(context, attribute(part, element, "val") ?? "", place, "A conditional format"),
    );
  else
    edits.setText(
      element,
      movedFormula(
        context,
        element.text,
        place,
        base ? "The formula of a format or validation" : "",
      ),
    );
}

/** The first cell of the range that an element's formula applies to. */
function baseOf({ part }: SheetModel, formula: XmlElement): CellPlace | null {
  const passed: XmlElement[] = [];
  let base: CellPlace | null | undefined;
  for (let element = formula.parent; element && base === undefined; element = element.parent) {
    base = baseIn.get(element);
    passed.push(element);
    if (base !== undefined) break;
    const list = attribute(part, element, "sqref") ?? child(element, "sqref")?.text;
    const range = list === undefined ? null : parseRange(/\S+/.exec(list)?.[0] ?? "");
    if (range) base = { row: range.top, column: range.left };
  }
  for (const element of passed) baseIn.set(element, base ?? null);
  return base ?? null;
}

/** Cached, because one element may have many formulas and ranges. */
const baseIn = new WeakMap<XmlElement, CellPlace | null>();

/** Renumbers the rows below the repeated ones and their cells. */
export async function moveRowNumbers(
  edits: Edits,
  model: SheetModel,
  move: RowMove,
): Promise<void> {
  const pause = pacer();
  for (const { row, element, cells } of model.rows) {
    if (row <= move.last) continue;
    await pause();
    const moved = moveRow(row, move);
    edits.setAttribute(element, "r", String(moved));
    for (const cell of cells)
      edits.setAttribute(cell.element, "r", cellName({ row: moved, column: cell.column }));
  }
}
