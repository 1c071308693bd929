import type { CellFormula } from "./cellFormulas.ts";
import { cellFormulas } from "./cellFormulas.ts";
import { Edits } from "./edits.ts";
import type { MoveContext } from "./moveContext.ts";
import {
  moveChart,
  moveCommentBoxes,
  moveComments,
  moveDrawing,
  movePivotSource,
  moveTable,
  moveWorkbook,
} from "./movedParts.ts";
import type { TemplatePlan } from "./plan.ts";
import { moveSheetFormulas } from "./sheetFormulas.ts";
import type { SheetModel } from "./sheetModel.ts";
import { moveRowNumbers, moveSheetRanges } from "./sheetRanges.ts";
import { attribute } from "./xmlTree.ts";

/** The changes to a workbook apart from filled cells. */
export interface ChangedParts {
  /** Edits of sheets by part name; the caller may add more. */
  readonly sheets: ReadonlyMap<string, Edits>;
  readonly formulas: ReadonlyMap<SheetModel, readonly CellFormula[]>;
  /** Edits of other parts by name. */
  readonly others: ReadonlyMap<string, Edits>;
  /** The new text of parts that are not XML trees, by name. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Moves everything that depends on row positions, and removes computed results of the template. */
export async function changeParts(plan: TemplatePlan, context: MoveContext): Promise<ChangedParts> {
  const { workbook, sheets: models } = plan;
  const { move } = context;
  const filled = new Set([...plan.filled.keys()].map(({ name }) => name.toLowerCase()));
  const sheets = new Map<string, Edits>();
  const formulas = new Map<SheetModel, readonly CellFormula[]>();
  for (const model of models) {
    const edits = new Edits(model.part);
    sheets.set(model.partName, edits);
    formulas.set(model, await cellFormulas(workbook, model));
    await moveSheetFormulas(edits, model, formulas.get(model) ?? [], context);
    moveSheetRanges(edits, model, context);
    if (move && move.sheet === model.name) await moveRowNumbers(edits, model, move);
  }
  const computes = [...formulas.values()].some((list) => list.length > 0);
  const others = new Map([[workbook.main, await moveWorkbook(workbook, context, computes)]]);
  const texts = new Map<string, string>();
  for (const name of workbook.parts.keys()) {
    if (/^xl\/charts\/chart[^/]*\.xml$/i.test(name))
      others.set(name, moveChart(await workbook.xml(name), filled, context));
    else if (/^xl\/pivotCache\/pivotCacheDefinition[^/]*\.xml$/i.test(name))
      others.set(name, movePivotSource(await workbook.xml(name), filled, move));
  }
  const moved = models.find(({ name }) => name === move?.sheet);
  if (move && moved)
    for (const { type, target } of await workbook.relations(moved.partName)) {
      const bytes = workbook.parts.get(target);
      // Several relationships may refer to one part.
      if (!bytes || others.has(target) || texts.has(target)) continue;
      if (type === "vmlDrawing") texts.set(target, moveCommentBoxes(bytes.toString(), move));
      else if (type === "drawing")
        others.set(target, moveDrawing(await workbook.xml(target), move));
      else if (type === "comments" || type === "threadedComment")
        others.set(target, moveComments(await workbook.xml(target), move));
      else if (type === "table")
        others.set(target, moveTable(await workbook.xml(target), moved, context, move));
      else if (type === "pivotTable")
        context.report(
          moved.name,
          null,
          "A pivot table on the sheet with the repeated rows cannot be moved: put it on another sheet",
        );
    }
  await dropCalculationOrder(plan, others);
  return { sheets, formulas, others, texts };
}

/** Excel rebuilds a missing calculation chain, but reports an outdated one as damage. */
async function dropCalculationOrder(
  { workbook }: TemplatePlan,
  others: Map<string, Edits>,
): Promise<void> {
  const relations = await workbook.relations(workbook.main);
  const chain = relations.find(({ type }) => type === "calcChain");
  if (!chain) return;
  const types = new Edits(await workbook.xml("[Content_Types].xml"));
  for (const element of types.part.root.children)
    if (
      attribute(types.part, element, "PartName")?.toLowerCase() === `/${chain.target}`.toLowerCase()
    )
      types.remove(element);
  others.set("[Content_Types].xml", types);
  const name = workbook.main.replace(/([^/]*)$/, "_rels/$1.rels");
  const list = new Edits(await workbook.xml(name));
  for (const element of list.part.root.children)
    if (attribute(list.part, element, "Id") === chain.id) list.remove(element);
  others.set(name, list);
  workbook.parts.delete(chain.target);
}
