import { translateFormulaToA1, translateFormulaToR1C1 } from "@borgar/fx/xlsx";
import { pacer } from "../pacer.ts";
import { cellName } from "./a1.ts";
import { fileProblem } from "./problems.ts";
import type { SheetCell, SheetModel } from "./sheetModel.ts";
import { attribute } from "./xmlTree.ts";

/** A cell's formula as if it were written out, also where the file only says "as in the cell above". */
export interface CellFormula {
  readonly cell: SheetCell;
  readonly text: string;
  readonly type: "normal" | "shared" | "array" | "dataTable";
  /** The cells that an array formula fills. */
  readonly ref: string | undefined;
}

/** The formulas of a sheet, shared ones written out for each of their cells. */
export async function cellFormulas({ part, rows }: SheetModel): Promise<CellFormula[]> {
  const masters = new Map<string, string>();
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
        if (text !== "") masters.set(id, translateFormulaToR1C1(text, cellName(cell)));
        const master = masters.get(id);
        if (master === undefined) throw fileProblem(`The formula of ${cellName(cell)} is missing`);
        found.push({
          cell,
          text: text === "" ? translateFormulaToA1(master, cellName(cell)) : text,
          type: "shared",
          ref,
        });
      }
    }
  return found;
}
