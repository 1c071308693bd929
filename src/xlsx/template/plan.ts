import { didYouMean } from "../../query/suggest.ts";
import type { FieldKind } from "../values.ts";
import { cellName, contains } from "./a1.ts";
import { cellFormulas } from "./cellFormulas.ts";
import { packageProblems } from "./packageRules.ts";
import { headerFooters } from "./headerFooters.ts";
import { mayHoldPlaceholder, onlyField, parsePlaceholders } from "./placeholders.ts";
import type { TemplateProblem } from "./problems.ts";
import { readPackage } from "./readPackage.ts";
import { repeatedRows } from "./repeatedRows.ts";
import type { SheetCell, SheetModel } from "./sheetModel.ts";
import { readSheet } from "./sheetModel.ts";
import type { Workbook } from "./workbook.ts";
import { readWorkbook } from "./workbook.ts";
import { child, walk } from "./xmlTree.ts";

/** FORM: filled once, with one record. TABLE: the rows that hold placeholders are there for each record. */
export type TemplateKind = "FORM" | "TABLE";

export interface Placeholder {
  readonly sheet: string;
  /** Such as `B2`; null in a header or footer. */
  readonly cell: string | null;
  readonly field: string;
}

/** A template that was read and understood. */
export interface TemplatePlan {
  readonly workbook: Workbook;
  readonly sheets: readonly SheetModel[];
  readonly placeholders: readonly Placeholder[];
  /** Cells with placeholders, by their sheet. */
  readonly filled: ReadonlyMap<SheetModel, readonly SheetCell[]>;
  /** In a TABLE, the rows to repeat; null if there are none or it cannot be said which. */
  readonly rows: {
    readonly model: SheetModel;
    readonly first: number;
    readonly last: number;
  } | null;
  readonly problems: readonly TemplateProblem[];
}

/** Reads a template and finds its placeholders; what is wrong with it is listed, unless it cannot be read at all. */
export async function planTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<TemplatePlan> {
  const workbook = await readWorkbook(await readPackage(file));
  const problems: TemplateProblem[] = [...(await packageProblems(workbook))];
  const sheets: SheetModel[] = [];
  for (const sheet of workbook.sheets) sheets.push(await readSheet(workbook, sheet));
  const placeholders: Placeholder[] = [];
  const filled = new Map<SheetModel, SheetCell[]>();
  for (const model of sheets)
    for (const { cells } of model.rows)
      for (const cell of cells) {
        const text = cell.runs?.map((run) => run.text).join("") ?? "";
        const found = fieldsOf(text, fields, (reason) =>
          problems.push({ sheet: model.name, cell: cellName(cell), reason }),
        );
        if (found.length === 0) continue;
        if (isHidden(cell, model)) continue;
        filled.set(model, [...(filled.get(model) ?? []), cell]);
        for (const field of found)
          placeholders.push({ sheet: model.name, cell: cellName(cell), field });
      }
  for (const model of sheets)
    for (const { cell, text } of await cellFormulas(model))
      if (mayHoldPlaceholder(text))
        problems.push({
          sheet: model.name,
          cell: cellName(cell),
          reason:
            "A placeholder stands in a formula: put it in a cell of its own and refer to that",
        });
  for (const model of sheets)
    for (const { text } of headerFooters(model)) {
      const report = (reason: string) =>
        problems.push({ sheet: model.name, cell: null, reason: `${reason} (header or footer)` });
      const found = fieldsOf(text, fields, report);
      if (kind === "TABLE" && found.length > 0)
        report("A placeholder of one record cannot stand in what is printed on every page");
      for (const field of found)
        if (fields.get(field) === "image") report(`The picture {{${field}}} needs a cell`);
        else placeholders.push({ sheet: model.name, cell: null, field });
    }
  problems.push(...(await strayPlaceholders(workbook, sheets)));
  if (placeholders.length === 0 && problems.length === 0)
    problems.push({ sheet: null, cell: null, reason: "It holds no placeholder, such as {{name}}" });
  const rows = kind === "TABLE" ? repeatedRows(filled, problems) : null;
  return { workbook, sheets, placeholders, filled, rows, problems };
}

function fieldsOf(
  text: string,
  fields: ReadonlyMap<string, FieldKind>,
  report: (reason: string) => void,
): string[] {
  if (!mayHoldPlaceholder(text)) return [];
  const { pieces, problems } = parsePlaceholders(text);
  problems.forEach(report);
  const whole = onlyField(pieces);
  const found: string[] = [];
  for (const piece of pieces) {
    if (!("field" in piece)) continue;
    const { field } = piece;
    found.push(field);
    const kind = fields.get(field);
    if (kind === undefined)
      report(`There is no field ${field}${didYouMean(field, [...fields.keys()])}`);
    else if (kind === "image" && whole === null)
      report(`The picture {{${field}}} needs a cell of its own, with nothing else in it`);
  }
  return found;
}

/** Cells under a merged range, but for its first, are not seen. */
function isHidden(cell: SheetCell, { merges }: SheetModel): boolean {
  const merge = merges.find((range) => contains(range, cell));
  return merge !== undefined && (merge.top !== cell.row || merge.left !== cell.column);
}

const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^xl\/charts\//, "a chart"],
  [/^xl\/drawings\//, "a drawing or text box"],
  [/^xl\/(?:comments|threadedComments)/, "a comment"],
  [/^xl\/tables\//, "the headings of a table"],
  [/^xl\/pivot/, "a pivot table"],
];

/** Placeholders where they are not filled would be printed as they are. */
async function strayPlaceholders(
  workbook: Workbook,
  sheets: readonly SheetModel[],
): Promise<TemplateProblem[]> {
  const found: TemplateProblem[] = [];
  for (const [name, bytes] of workbook.parts) {
    const place = PLACES.find(([pattern]) => pattern.test(name))?.[1];
    if (place === undefined || !bytes.includes("{{")) continue;
    if (name.endsWith(".xml") && !(await showsPlaceholder(workbook, name))) continue;
    found.push({
      sheet: null,
      cell: null,
      reason: `A placeholder stands in ${place}, where it is not filled`,
    });
  }
  if (workbook.parts.get(workbook.main)?.includes("{{") === true)
    found.push({
      sheet: null,
      cell: null,
      reason: "A placeholder stands in a sheet's or defined name, where it is not filled",
    });
  for (const model of sheets) {
    const { name, part, data } = model;
    const headers = child(part.root, "headerFooter");
    const outside = [
      part.source.slice(0, data.start),
      part.source.slice(data.end, headers?.start),
      headers ? part.source.slice(headers.end) : "",
    ];
    if (outside.some((source) => source.includes("{{")))
      found.push({
        sheet: name,
        cell: null,
        reason:
          "A placeholder stands outside of the cells (a format, validation or link), where it is not filled",
      });
  }
  return found;
}

/** A chart keeps a copy of its cells' texts, which is made anew. */
async function showsPlaceholder(workbook: Workbook, name: string): Promise<boolean> {
  const part = await workbook.xml(name);
  let shows = false;
  walk(part.root, (element) => {
    if (/Cache$/.test(element.local)) return false;
    shows ||=
      element.text.includes("{{") || part.source.slice(element.start, element.open).includes("{{");
    return true;
  });
  return shows;
}
