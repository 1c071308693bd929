import type { FieldKind } from "../values.ts";
import { changeParts } from "./changedParts.ts";
import { moveContext } from "./moveContext.ts";
import type { Placeholder, TemplateKind, TemplatePlan } from "./plan.ts";
import { planTemplate } from "./plan.ts";
import { TemplateError } from "./problems.ts";
import type { TemplateProblem } from "./problems.ts";
import { findRowProblems } from "./rowWriters.ts";

/** The result of checking an uploaded workbook as a template. */
export interface TemplateCheck {
  /** Empty when there is a problem. */
  readonly placeholders: readonly Placeholder[];
  /** The first problems. */
  readonly problems: readonly TemplateProblem[];
  /** The number of all problems. */
  readonly problemCount: number;
}

/**
 * Checks an uploaded workbook as a template and lists its placeholders and problems. A template without problems can be
 * filled.
 * @param fields the fields that placeholders may name, with their kinds
 */
export async function checkTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<TemplateCheck> {
  try {
    const { placeholders } = await planValidTemplate(file, fields, kind);
    return { placeholders, problems: [], problemCount: 0 };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { problems, problemCount } = error;
    return { placeholders: [], problems, problemCount };
  }
}

/**
 * Plans a template without problems.
 * @throws TemplateError for a template with problems
 */
export async function planValidTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<TemplatePlan> {
  const plan = await planTemplate(file, fields, kind);
  await findMoveProblems(plan);
  const { named, count } = plan.problems;
  if (count > 0) throw new TemplateError(named, count);
  return plan;
}

/** Finds what cannot be moved with the repeated rows, by a trial move for two records. */
async function findMoveProblems(plan: TemplatePlan): Promise<void> {
  const { rows } = plan;
  const move = rows && { ...rows, sheet: rows.model.name, delta: rows.last - rows.first + 1 };
  const context = moveContext(move, 2, plan.problems);
  // The parts are copied, because the template may be filled afterwards.
  const parts = new Map(plan.workbook.parts);
  const { formulas } = await changeParts(
    { ...plan, workbook: { ...plan.workbook, parts } },
    context,
  );
  findRowProblems(plan, formulas);
}
