import type { FieldKind } from "../values.ts";
import { changeParts } from "./changedParts.ts";
import { moveContext } from "./moveContext.ts";
import type { Placeholder, TemplateKind, TemplatePlan } from "./plan.ts";
import { planTemplate } from "./plan.ts";
import { TemplateError } from "./problems.ts";
import type { TemplateProblem } from "./problems.ts";
import { findRowProblems } from "./rowWriters.ts";

/** What an uploaded workbook is as a template. */
export interface TemplateCheck {
  /** Empty where there is a problem. */
  readonly placeholders: readonly Placeholder[];
  /** The first problems. */
  readonly problems: readonly TemplateProblem[];
  /** Of all problems, those included that are not named. */
  readonly problemCount: number;
}

/**
 * Reads an uploaded workbook and says which placeholders it holds, and what is wrong with it as a template. What passes here can be
 * filled.
 * @param fields the fields that a placeholder may name, with their kinds
 */
export async function checkTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<TemplateCheck> {
  try {
    const { placeholders } = await planSoundTemplate(file, fields, kind);
    return { placeholders, problems: [], problemCount: 0 };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { problems, problemCount } = error;
    return { placeholders: [], problems, problemCount };
  }
}

/**
 * Reads a template that can be filled.
 * @throws TemplateError for any other
 */
export async function planSoundTemplate(
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

/** Finds what could not follow the repeated rows by moving everything for two records. */
async function findMoveProblems(plan: TemplatePlan): Promise<void> {
  const { rows } = plan;
  const move = rows && { ...rows, sheet: rows.model.name, delta: rows.last - rows.first + 1 };
  const context = moveContext(move, 2, plan.problems);
  // The parts are left as they are: a filling may follow.
  const parts = new Map(plan.workbook.parts);
  const { formulas } = await changeParts(
    { ...plan, workbook: { ...plan.workbook, parts } },
    context,
  );
  findRowProblems(plan, formulas);
}
