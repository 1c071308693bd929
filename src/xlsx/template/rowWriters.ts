import { cellName, parseRange } from "./a1.ts";
import type { CellFormula } from "./cellFormulas.ts";
import { Edits } from "./edits.ts";
import type { CellWriter, FillContext } from "./filledCells.ts";
import { makeFilledCellWriter, makeRepeatedCellWriter } from "./filledCells.ts";
import { splitFormula } from "./formulas.ts";
import type { TemplatePlan } from "./plan.ts";
import type { RowMove } from "./rowMove.ts";
import { heightOf } from "./rowMove.ts";
import type { SheetModel } from "./sheetModel.ts";
import { markRow } from "./spool.ts";

type Formulas = ReadonlyMap<SheetModel, readonly CellFormula[]>;

/** Creates the writer of all repeated rows of a record. */
export function makeRowsWriter(
  plan: TemplatePlan,
  model: SheetModel,
  move: RowMove,
  formulas: Formulas,
  context: FillContext,
): CellWriter {
  const filled = new Set(plan.filled.get(model));
  const byCell = new Map((formulas.get(model) ?? []).map((formula) => [formula.cell, formula]));
  const height = heightOf(move);
  const writers = model.rows
    .filter(({ row }) => row >= move.first && row <= move.last)
    .map(({ row, element, cells }) => {
      const edits = new Edits(model.part);
      edits.setAttributeXml(element, "r", "\u0001");
      const [before = "", after = ""] = edits
        .apply(element.start, element.open)
        .replace(/\/>$/, ">")

        .split("\u0001");
      const own = cells.map((cell) => {
        if (filled.has(cell)) return makeFilledCellWriter(model, cell, context);
        const formula = byCell.get(cell);
        const parts = formula
          ? splitFormula(formula.text, { sheet: model.name, cell, use: "copied" }, move).parts
          : null;
        return makeRepeatedCellWriter(model, cell, parts, height, markRow);
      });
      return { row, before, after: after, own, end: `</${element.name}>` };
    });
  return (first, record, index) =>
    writers
      .map(({ row, before, after, own, end }) => {
        const at = first + row - move.first;
        return `${before}${at}${after}${own.map((write) => write(at, record, index)).join("")}${end}`;
      })
      .join("");
}

/** Finds formulas in the repeated rows that cannot be repeated. */
export function findRowProblems({ rows, problems }: TemplatePlan, formulas: Formulas): void {
  if (!rows) return;
  const { model, first, last } = rows;
  const move = { sheet: model.name, first, last, delta: last - first + 1 };
  for (const { cell, text, type, ref } of formulas.get(model) ?? []) {
    if (cell.row < first || cell.row > last) continue;
    const range = parseRange(ref ?? "");
    const isSpread =
      type === "array" && range && (range.top !== range.bottom || range.left !== range.right);
    const opened = splitFormula(text, { sheet: model.name, cell, use: "copied" }, move);
    for (const reason of opened.problems) problems.add(model.name, cellName(cell), reason);
    if (isSpread || type === "dataTable")
      problems.add(
        model.name,
        cellName(cell),
        "A formula that fills several cells is not allowed in repeated rows",
      );
  }
}
