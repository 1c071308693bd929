/** Why a workbook cannot be a template, and where: in a cell, on a sheet, or (both null) in the file as a whole. */
export interface TemplateProblem {
  readonly sheet: string | null;
  readonly cell: string | null;
  readonly reason: string;
}

/** A template that cannot be read or filled; the message and the problems are for people. */
export class TemplateError extends Error {
  override name = "TemplateError";
  readonly problems: readonly TemplateProblem[];

  constructor(problems: readonly TemplateProblem[]) {
    super(problems.map(sentenceOf).join("; "));
    this.problems = problems;
  }
}

/** A failure with the file as a whole. */
export function fileProblem(reason: string): TemplateError {
  return new TemplateError([{ sheet: null, cell: null, reason }]);
}

function sentenceOf({ sheet, cell, reason }: TemplateProblem): string {
  if (sheet === null) return reason;
  return cell === null ? `${sheet}: ${reason}` : `${sheet}!${cell}: ${reason}`;
}
