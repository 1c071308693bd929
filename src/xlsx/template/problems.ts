/** Why a workbook cannot be a template, and where: in a cell, on a sheet, or (both null) in the file. */
export interface TemplateProblem {
  readonly sheet: string | null;
  readonly cell: string | null;
  readonly reason: string;
}

/** The number of problems that are listed; further ones are only counted. */
const NAMED = 20;
/** Names and texts of a workbook may have any length. */
const MAX_TEXT_LENGTH = 300;

/** The first problems of a workbook, and the number of all. */
export class ProblemList {
  readonly #named = new Map<string, TemplateProblem>();
  #count = 0;

  get named(): readonly TemplateProblem[] {
    return [...this.#named.values()];
  }

  get count(): number {
    return this.#count;
  }

  /** @param reason a function if the message is costly; it is called for listed problems only */
  add(sheet: string | null, cell: string | null, reason: string | (() => string)): void {
    if (this.#named.size >= NAMED) {
      this.#count++;
      return;
    }
    const problem = {
      sheet: sheet === null ? null : shortened(sheet),
      cell: cell === null ? null : shortened(cell),
      reason: shortened(typeof reason === "string" ? reason : reason()),
    };
    const key = JSON.stringify(problem);
    if (this.#named.has(key)) return;
    this.#named.set(key, problem);
    this.#count++;
  }

  addAll(sheet: string | null, cell: string | null, reasons: readonly (() => string)[]): void {
    for (const [index, reason] of reasons.entries()) {
      if (this.#named.size >= NAMED) {
        this.#count += reasons.length - index;
        return;
      }
      this.add(sheet, cell, reason);
    }
  }
}

/** A template that cannot be read or filled; message and problems are for users. */
export class TemplateError extends Error {
  override name = "TemplateError";
  /** The first problems. */
  readonly problems: readonly TemplateProblem[];
  /** The number of all problems. */
  readonly problemCount: number;

  constructor(problems: readonly TemplateProblem[], problemCount = problems.length) {
    super(messageOf(problems, problemCount));
    this.problems = problems;
    this.problemCount = problemCount;
  }
}

/** A problem with the file as a whole. */
export function fileProblem(reason: string): TemplateError {
  return new TemplateError([{ sheet: null, cell: null, reason: shortened(reason) }]);
}

function messageOf(problems: readonly TemplateProblem[], count: number): string {
  const more = count - problems.length;
  const rest = more > 0 ? [`and ${more} more ${more === 1 ? "problem" : "problems"}`] : [];
  return [...problems.map(sentenceOf), ...rest].join("; ");
}

function sentenceOf({ sheet, cell, reason }: TemplateProblem): string {
  if (sheet === null) return reason;
  return cell === null ? `${sheet}: ${reason}` : `${sheet}!${cell}: ${reason}`;
}

function shortened(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…` : text;
}
