import { translateFormulaToA1, translateFormulaToR1C1 } from "@borgar/fx/xlsx";
import { pacer } from "../pacer.ts";
import { cellName } from "./a1.ts";
import { MAX_FORMULA_LENGTH } from "./formulaBudget.ts";
import { fileProblem } from "./problems.ts";
import type { SheetCell, SheetModel } from "./sheetModel.ts";
import type { Workbook } from "./workbook.ts";
import { attribute } from "./xmlTree.ts";

/** The formula of a cell, with shared formulas expanded. */
export interface CellFormula {
  readonly cell: SheetCell;
  readonly text: string;
  readonly type: "normal" | "shared" | "array" | "dataTable";
  /** The cells that an array formula fills. */
  readonly ref: string | undefined;
}

/** The formulas of a sheet, with shared formulas expanded for each cell. */
export function cellFormulas(
  workbook: Workbook,
  model: SheetModel,
): Promise<readonly CellFormula[]> {
  let formulas = formulasOf.get(model);
  if (!formulas) {
    formulas = readFormulas(workbook, model);
    formulasOf.set(model, formulas);
  }
  return formulas;
}

/** Cached, because checking and filling need them several times. */
const formulasOf = new WeakMap<SheetModel, Promise<readonly CellFormula[]>>();

async function readFormulas(
  { formulas }: Workbook,
  { part, rows }: SheetModel,
): Promise<CellFormula[]> {
  const masters = new Map<string, { text: string; relative: string }>();
  const found: CellFormula[] = [];
  const pause = pacer();
  for (const { cells } of rows)
    for (const cell of cells) {
      const { formula } = cell;
      if (!formula) continue;
      await pause();
      const ref = attribute(part, formula, "ref");
      const type = attribute(part, formula, "t");
      const text = formula.text;
      if (type === "array" || type === "dataTable") found.push({ cell, text, type, ref });
      else if (type !== "shared") found.push({ cell, text, type: "normal", ref });
      else {
        const id = attribute(part, formula, "si") ?? "";
        if (text.length > MAX_FORMULA_LENGTH)
          throw fileProblem(
            `The formula of ${cellName(cell)} is longer than ${MAX_FORMULA_LENGTH} characters`,
          );
        const master = text === "" ? masters.get(id) : { text, relative: "" };
        if (master === undefined) throw fileProblem(`The formula of ${cellName(cell)} is missing`);
        formulas.spend(master.text);
        if (text !== "")
          masters.set(id, { text, relative: translateFormulaToR1C1(text, cellName(cell)) });
        found.push({
          cell,
          text: text === "" ? translateFormulaToA1(master.relative, cellName(cell)) : text,
          type: "shared",
          ref,
        });
      }
    }
  return found;
}
