import { fileProblem } from "./problems.ts";

/** Excel's limit in characters. */
export const MAX_FORMULA_LENGTH = 8_192;
/** About 20,000 formulas of 60 characters, or 14 of the maximum length. */
const MAX_FORMULA_WORK = 2_000_000;

/** Limits the work on a workbook's formulas; one formula costs up to the square of its length. */
export class FormulaBudget {
  #left = MAX_FORMULA_WORK;

  /** @throws TemplateError when the budget is exceeded */
  spend({ length }: string): void {
    // Longer formulas are not parsed.
    if (length > MAX_FORMULA_LENGTH) return;
    this.#left -= length * (1 + length / 500);
    if (this.#left < 0)
      throw fileProblem("The workbook has too many or too long formulas to be a template");
  }
}
