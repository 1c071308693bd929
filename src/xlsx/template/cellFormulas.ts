import { translateFormulaToA1, translateFormulaToR1C1 } from "@borgar/fx/xlsx";
import { cellName } from "./a1.ts";
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
export function cellFormulas({ part, rows }: SheetModel): CellFormula[] {
  const masters = new Map<string, { relative: string; cell: SheetCell; text: string }>();
  return rows.flatMap(({ cells }) =>
    cells.flatMap((cell): CellFormula[] => {
      const { formula } = cell;
      if (!formula) return [];
      const ref = attribute(part, formula, "ref");
      const type = attribute(part, formula, "t");
      const text = formula.text;
      if (type === "array" || type === "dataTable") return [{ cell, text, type, ref }];
      if (type !== "shared") return [{ cell, text, type: "normal", ref }];
      const id = attribute(part, formula, "si") ?? "";
      if (text !== "") {
        masters.set(id, { relative: translateFormulaToR1C1(text, cellName(cell)), cell, text });
        return [{ cell, text, type: "shared", ref }];
      }
      const master = masters.get(id);
      if (!master) throw new Error(`The formula of ${cellName(cell)} is missing`);
      return [
        { cell, text: translateFormulaToA1(master.relative, cellName(cell)), type: "shared", ref },
      ];
    }),
  );
}
