import type { CellPlace } from "./a1.ts";
import { cellName } from "./a1.ts";
import type { FormulaPlace } from "./formulas.ts";
import { FormulaBudget } from "./formulaBudget.ts";
import { moveFormula } from "./formulas.ts";
import type { ProblemList } from "./problems.ts";
import type { RowMove } from "./rowMove.ts";

/** The context of moving a workbook's parts: the move and the problem list. */
export interface MoveContext {
  /** Null in a form, where nothing moves. */
  readonly move: RowMove | null;
  /** The number of records, and so of copies of the rows. */
  readonly records: number;
  readonly formulas: FormulaBudget;
  report(sheet: string | null, cell: string | null, reason: string): void;
}

/** Creates a context that adds to a list of problems. */
export function moveContext(
  move: RowMove | null,
  records: number,
  problems: ProblemList,
): MoveContext {
  return {
    move,
    records,
    formulas: new FormulaBudget(),
    report: (sheet, cell, reason) => problems.add(sheet, cell, reason),
  };
}

/** A formula after the move; reports its problems with the cell. */
export function movedFormula(
  context: MoveContext,
  formula: string,
  place: FormulaPlace,
  what = "",
): string {
  context.formulas.spend(formula);
  const result = moveFormula(formula, place, context.move);
  for (const problem of result.problems)
    context.report(place.sheet, nameOf(place.cell), what === "" ? problem : `${what}: ${problem}`);
  return result.formula;
}

function nameOf(cell: CellPlace | null): string | null {
  return cell === null ? null : cellName(cell);
}
