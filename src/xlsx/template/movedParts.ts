import { parseA1Ref, tokenize } from "@borgar/fx/xlsx";
import { parseRange, rangeName } from "./a1.ts";
import { Edits } from "./edits.ts";
import { MAX_FORMULA_LENGTH } from "./formulaBudget.ts";
import type { MoveContext } from "./moveContext.ts";
import { movedFormula } from "./moveContext.ts";
import type { RowMove } from "./rowMove.ts";
import { isPartial } from "./rowMove.ts";
import { movedRange } from "./sheetRanges.ts";
import type { SheetModel } from "./sheetModel.ts";
import type { Workbook } from "./workbook.ts";
import type { XmlElement, XmlPart } from "./xmlTree.ts";
import { attribute, child, walk } from "./xmlTree.ts";

/** Moves the references of defined names and, if there are formulas, requests recalculation when the file is opened. */
export async function moveWorkbook(
  workbook: Workbook,
  context: MoveContext,
  computes: boolean,
): Promise<Edits> {
  const edits = new Edits(await workbook.xml(workbook.main));
  const { part } = edits;
  const names = (child(part.root, "sheets")?.children ?? []).map(
    (sheet) => attribute(part, sheet, "name") ?? "",
  );
  for (const name of child(part.root, "definedNames")?.children ?? []) {
    const sheet = names[Number(attribute(part, name, "localSheetId") ?? NaN)] ?? "";
    const what = `The defined name ${attribute(part, name, "name") ?? ""}`;
    const place = { sheet, cell: null, use: "fixed" } as const;
    edits.setText(
      name,
      movedFormula(
        { ...context, report: (_sheet, _cell, reason) => context.report(null, null, reason) },
        name.text,
        place,
        what,
      ),
    );
  }
  if (!computes) return edits;
  const calculation = child(part.root, "calcPr");
  if (calculation) edits.setAttribute(calculation, "fullCalcOnLoad", "1");
  else {
    // The schema requires it after these elements.
    const before = ["definedNames", "externalReferences", "functionGroups", "sheets"]
      .map((local) => child(part.root, local))
      .find((element) => element);
    if (before)
      edits.replace(before.end, before.end, `<${part.root.prefix}calcPr fullCalcOnLoad="1"/>`);
  }
  return edits;
}

/** Moves a chart's references and removes its cached values of filled sheets, which are those of the template. */
export function moveChart(part: XmlPart, filled: ReadonlySet<string>, context: MoveContext): Edits {
  const edits = new Edits(part);
  const cleared = new Set<XmlElement | null>();
  walk(part.root, (element) => {
    if (element.local !== "f" || element.children.length > 0) return true;
    const isTitle = hasParent(element, "tx");
    const place = { sheet: "", cell: null, use: isTitle ? "fixed" : "series" } as const;
    edits.setText(
      element,
      movedFormula(
        { ...context, report: (_sheet, _cell, reason) => context.report(null, null, reason) },
        element.text,
        place,
        "A chart",
      ),
    );
    if (cleared.has(element.parent)) return true;
    if (!sheetsOf(element.text).some((sheet) => filled.has(sheet.toLowerCase()))) return true;
    cleared.add(element.parent);
    for (const cache of element.parent?.children ?? [])
      if (/^(?:num|str|multiLvlStr)Cache$/.test(cache.local)) edits.remove(cache);
    return true;
  });
  return edits;
}

function hasParent(element: XmlElement, local: string): boolean {
  for (let parent = element.parent; parent; parent = parent.parent)
    if (parent.local === local) return true;
  return false;
}

function sheetsOf(formula: string): string[] {
  if (formula.length > MAX_FORMULA_LENGTH) return [];
  return tokenize(formula, { mergeRefs: true }).flatMap(({ type, value }) => {
    if (!type.startsWith("range")) return [];
    const reference = parseA1Ref(value, { allowTernary: true });
    return reference?.sheetName === undefined ? [] : [reference.sheetName];
  });
}

/** Moves pictures, charts and shapes that start below the repeated rows. */
export function moveDrawing(part: XmlPart, move: RowMove): Edits {
  const edits = new Edits(part);
  for (const anchor of part.root.children) {
    const from = child(child(anchor, "from"), "row");
    if (!from || Number(from.text) + 1 <= move.last) continue;
    edits.setText(from, String(Number(from.text) + move.delta));
    const to = child(child(anchor, "to"), "row");
    if (to) edits.setText(to, String(Number(to.text) + move.delta));
  }
  return edits;
}

/** Moves comments, old and threaded; those of the repeated rows stay with the first record. */
export function moveComments(part: XmlPart, move: RowMove): Edits {
  const edits = new Edits(part);
  walk(part.root, (element) => {
    if (element.local !== "comment" && element.local !== "threadedComment") return true;
    const range = parseRange(attribute(part, element, "ref") ?? "");
    if (range && range.top > move.last)
      edits.setAttribute(element, "ref", rangeName(movedRange(range, move)));
    return false;
  });
  return edits;
}

/** Moves comment boxes. They are VML drawings, which may be malformed XML, so they are edited as text. */
export function moveCommentBoxes(vml: string, move: RowMove): string {
  return vml
    .split(/(?<=<\/(?:\w{1,16}:)?shape>)/)
    .map((shape) => {
      const row = Number(/<x:Row>\s{0,9}(\d+)/.exec(shape)?.[1] ?? NaN) + 1;
      if (!(row > move.last)) return shape;
      return shape
        .replace(/(<x:Row>\s{0,9})\d+/, `$1${row - 1 + move.delta}`)
        .replace(/(<x:Anchor>)([^<]*)/, (_whole, tag: string, list: string) => {
          const numbers = list.split(",").map((text) => Number(text));
          // Column, offset, row and offset, twice.
          return (
            tag +
            numbers.map((value, index) => (index % 4 === 2 ? value + move.delta : value)).join(", ")
          );
        });
    })
    .join("");
}

/** Moves a table's range, its filter and its formulas. */
export function moveTable(
  part: XmlPart,
  model: SheetModel,
  context: MoveContext,
  move: RowMove,
): Edits {
  const edits = new Edits(part);
  const header = Number(attribute(part, part.root, "headerRowCount") ?? 1);
  const totals = Number(attribute(part, part.root, "totalsRowCount") ?? 0);
  walk(part.root, (element) => {
    const ref = attribute(part, element, "ref");
    const range = parseRange(ref ?? "");
    if (range) {
      const body =
        element === part.root ? { top: range.top + header, bottom: range.bottom - totals } : range;
      const crosses = range.bottom >= move.first && range.top <= move.last;
      if (crosses && element === part.root && (body.top > move.first || body.bottom < move.last))
        context.report(
          model.name,
          ref ?? null,
          "A table must contain the repeated rows among its data rows",
        );
      else if (isPartial(range.top, range.bottom, move) && element !== part.root)
        context.report(
          model.name,
          ref ?? null,
          "A table's filter or order contains some of the repeated rows but not all",
        );
      edits.setAttribute(element, "ref", rangeName(movedRange(range, move)));
    }
    if (/^(?:calculatedColumnFormula|totalsRowFormula)$/.test(element.local))
      edits.setText(
        element,
        movedFormula(
          context,
          element.text,
          { sheet: model.name, cell: null, use: "fixed" },
          "A table's formula",
        ),
      );
    return true;
  });
  return edits;
}

/** Moves the source of a pivot table and requests a refresh when the file is opened. */
export function movePivotSource(
  part: XmlPart,
  filled: ReadonlySet<string>,
  move: RowMove | null,
): Edits {
  const edits = new Edits(part);
  const source = child(child(part.root, "cacheSource"), "worksheetSource");
  if (!source) return edits;
  const sheet = attribute(part, source, "sheet");
  if (sheet !== undefined && !filled.has(sheet.toLowerCase())) return edits;
  edits.setAttribute(part.root, "refreshOnLoad", "1");
  const range = parseRange(attribute(part, source, "ref") ?? "");
  if (range && move && sheet?.toLowerCase() === move.sheet.toLowerCase())
    edits.setAttribute(source, "ref", rangeName(movedRange(range, move)));
  return edits;
}
