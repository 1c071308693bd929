import type { CellPlace } from "./a1.ts";
import { cellName } from "./a1.ts";
import type { FormulaPlace } from "./formulas.ts";
import { moveFormula } from "./formulas.ts";
import type { TemplateProblem } from "./problems.ts";
import type { RowMove } from "./rowMove.ts";

/** What goes along while the parts of a workbook are changed: the move, and what cannot be moved. */
export interface MoveContext {
  /** Null in a form, where nothing moves. */
  readonly move: RowMove | null;
  /** How often the rows stand there in the end. */
  readonly records: number;
  report(sheet: string | null, cell: string | null, reason: string): void;
}

/** A context that collects problems. */
export function moveContext(
  move: RowMove | null,
  records: number,
): { context: MoveContext; problems: TemplateProblem[] } {
  const problems: TemplateProblem[] = [];
  const context: MoveContext = {
    move,
    records,
    report: (sheet, cell, reason) => problems.push({ sheet, cell, reason }),
  };
  return { context, problems };
}

/** A formula after the move, its problems reported with the cell. */
export function movedFormula(
  context: MoveContext,
  formula: string,
  place: FormulaPlace,
  what = "",
): string {
  const result = moveFormula(formula, place, context.move);
  for (const problem of result.problems)
    context.report(place.sheet, nameOf(place.cell), what === "" ? problem : `${what}: ${problem}`);
  return result.formula;
}

function nameOf(cell: CellPlace | null): string | null {
  return cell === null ? null : cellName(cell);
}
