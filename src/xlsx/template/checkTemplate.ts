import type { FieldKind } from "../values.ts";
import { changeParts } from "./changedParts.ts";
import { moveContext } from "./moveContext.ts";
import type { Placeholder, TemplateKind, TemplatePlan } from "./plan.ts";
import { planTemplate } from "./plan.ts";
import { TemplateError } from "./problems.ts";
import type { TemplateProblem } from "./problems.ts";
import { rowProblems } from "./rowWriters.ts";

/**
 * Reads an uploaded workbook and says which placeholders it holds, and all that is wrong with it as a template. What passes
 * here can be filled.
 * @param fields the fields that a placeholder may name, with their kinds
 */
export async function checkTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<{ placeholders: Placeholder[]; problems: TemplateProblem[] }> {
  try {
    const plan = await planTemplate(file, fields, kind);
    return {
      placeholders: [...plan.placeholders],
      problems: unique([...plan.problems, ...(await moveProblems(plan))]),
    };
  } catch (error) {
    if (error instanceof TemplateError) return { placeholders: [], problems: [...error.problems] };
    throw error;
  }
}

/** What could not follow the repeated rows, found by moving everything for two records. */
export async function moveProblems({ ...plan }: TemplatePlan): Promise<TemplateProblem[]> {
  const { rows } = plan;
  const move = rows && { ...rows, sheet: rows.model.name, delta: rows.last - rows.first + 1 };
  const { context, problems } = moveContext(move, 2);
  // The parts are left as they are: the check may be followed by a filling.
  const parts = new Map(plan.workbook.parts);
  const { formulas } = await changeParts(
    { ...plan, workbook: { ...plan.workbook, parts } },
    context,
  );
  return [...problems, ...rowProblems(plan, formulas)];
}

function unique(problems: readonly TemplateProblem[]): TemplateProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
