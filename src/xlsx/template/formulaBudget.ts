import { fileProblem } from "./problems.ts";

/** What Excel takes, in characters. */
export const LONGEST_FORMULA = 8_192;
/** Some 20,000 formulas of 60 characters, or 14 of the longest. */
const MAX_FORMULA_WORK = 2_000_000;

/** How much work with the formulas of a workbook is left: it grows with their lengths, for a single one with the square. */
export class FormulaBudget {
  #left = MAX_FORMULA_WORK;

  /** @throws TemplateError when all of it is spent */
  spend({ length }: string): void {
    // Longer ones are not looked into.
    if (length > LONGEST_FORMULA) return;
    this.#left -= length * (1 + length / 500);
    if (this.#left < 0)
      throw fileProblem("The workbook has too many or too long formulas to be a template");
  }
}
