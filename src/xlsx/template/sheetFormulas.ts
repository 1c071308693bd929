import { pacer } from "../pacer.ts";
import { xmlText } from "../xmlText.ts";
import { cellName, parseRange, rangeName } from "./a1.ts";
import type { CellFormula } from "./cellFormulas.ts";
import type { Edits } from "./edits.ts";
import type { MoveContext } from "./moveContext.ts";
import { movedFormula } from "./moveContext.ts";
import { sideOf } from "./rowMove.ts";
import type { SheetModel } from "./sheetModel.ts";
import { movedRange } from "./sheetRanges.ts";
import { attribute, child } from "./xmlTree.ts";

/**
 * Moves the references of a sheet's formulas outside the repeated rows, and removes all cached results: they are those
 * of the template, and programs recalculate when they open the file.
 */
export async function moveSheetFormulas(
  edits: Edits,
  model: SheetModel,
  formulas: readonly CellFormula[],
  context: MoveContext,
): Promise<void> {
  const { move } = context;
  const isMoved = move !== null && move.sheet === model.name;
  const pause = pacer();
  const changed: string[] = [];
  for (const { cell, text } of formulas) {
    await pause();
    changed.push(
      isMoved && sideOf(cell.row, move) === "repeated"
        ? text
        : movedFormula(context, text, { sheet: model.name, cell, use: "fixed" }),
    );
  }
  // Cells can share a formula only while all of them keep it.
  const isSharing =
    !isMoved &&
    formulas.every(({ type, text }, index) => type !== "shared" || changed[index] === text);
  for (const [index, formula] of formulas.entries()) {
    await pause();
    const { cell, type } = formula;
    if (isMoved && sideOf(cell.row, move) === "repeated") continue;
    dropResult(edits, cell.element);
    if (!cell.formula) continue;
    const text = changed[index] ?? "";
    if (type === "shared" && !isSharing) {
      edits.removeAttribute(cell.formula, "t");
      edits.removeAttribute(cell.formula, "si");
      edits.removeAttribute(cell.formula, "ref");
      edits.setContent(cell.formula, xmlText(text));
    } else if (text !== formula.text) edits.setText(cell.formula, text);
    if (isMoved && (type === "array" || type === "dataTable"))
      moveFilled(edits, model, formula, context);
  }
}

function moveFilled(
  edits: Edits,
  model: SheetModel,
  { cell, type, ref }: CellFormula,
  context: MoveContext,
): void {
  const { move } = context;
  const range = parseRange(ref ?? "");
  if (!move || !range || !cell.formula) return;
  if (type === "dataTable")
    context.report(
      model.name,
      cellName(cell),
      "A what-if data table on a sheet with repeated rows cannot be moved",
    );
  else if (range.bottom >= move.first && range.top <= move.last)
    context.report(
      model.name,
      cellName(cell),
      `An array formula reaches into the repeated rows (${move.first} to ${move.last})`,
    );
  else edits.setAttribute(cell.formula, "ref", rangeName(movedRange(range, move)));
}

/** Removes the cached result of a formula. */
function dropResult(edits: Edits, cell: CellFormula["cell"]["element"]): void {
  const value = child(cell, "v");
  if (value) edits.remove(value);
  if (attribute(edits.part, cell, "t") !== undefined) edits.removeAttribute(cell, "t");
}
