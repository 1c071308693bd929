import { didYouMean } from "../../text/suggest.ts";
import { SHEET_LIMITS } from "../limits.ts";
import type { FieldKind } from "../values.ts";
import { cellName } from "./a1.ts";
import { cellFormulas } from "./cellFormulas.ts";
import { packageProblems } from "./packageRules.ts";
import { MAX_TEMPLATE_LENGTH, headerFooters } from "./headerFooters.ts";
import { mergedCells } from "./mergedCells.ts";
import { mayContainPlaceholder, onlyField, parsePlaceholders } from "./placeholders.ts";
import { ProblemList } from "./problems.ts";
import { readPackage } from "./readPackage.ts";
import { repeatedRows } from "./repeatedRows.ts";
import type { SheetCell, SheetModel, TextRun } from "./sheetModel.ts";
import { readSheet } from "./sheetModel.ts";
import type { Workbook } from "./workbook.ts";
import { readWorkbook } from "./workbook.ts";
import { child, walk } from "./xmlTree.ts";

/** FORM: filled once with one record. TABLE: the rows with placeholders are repeated for each record. */
export type TemplateKind = "FORM" | "TABLE";

export interface Placeholder {
  readonly sheet: string;
  /** A cell such as `B2`; null in a header or footer. */
  readonly cell: string | null;
  readonly field: string;
}

/** A parsed template. */
export interface TemplatePlan {
  readonly workbook: Workbook;
  readonly sheets: readonly SheetModel[];
  readonly placeholders: readonly Placeholder[];
  /** Cells with placeholders by sheet. */
  readonly filled: ReadonlyMap<SheetModel, readonly SheetCell[]>;
  /** The rows to repeat in a TABLE; null if there are none or they are ambiguous. */
  readonly rows: {
    readonly model: SheetModel;
    readonly first: number;
    readonly last: number;
  } | null;
  readonly problems: ProblemList;
}

/** Limited because each is listed with its cell, and many cells may share a text. */
const MAX_PLACEHOLDERS = 10_000;

/** Parses a template and finds its placeholders. Problems are listed unless the file cannot be read at all. */
export async function planTemplate(
  file: Buffer | string,
  fields: ReadonlyMap<string, FieldKind>,
  kind: TemplateKind,
): Promise<TemplatePlan> {
  const workbook = await readWorkbook(await readPackage(file));
  const problems = new ProblemList();
  for (const reason of await packageProblems(workbook)) problems.add(null, null, reason);
  const sheets: SheetModel[] = [];
  for (const sheet of workbook.sheets) sheets.push(await readSheet(workbook, sheet));
  const placeholders: Placeholder[] = [];
  let count = 0;
  const list = (sheet: string, cell: string | null, found: readonly string[]) => {
    count += found.length;
    if (count > MAX_PLACEHOLDERS) return;
    for (const field of found) placeholders.push({ sheet, cell, field });
  };
  const filled = new Map<SheetModel, SheetCell[]>();
  const read = textReader(fields);
  for (const model of sheets) {
    const cells = model.rows
      .flatMap((row) => row.cells)
      .flatMap((cell) => {
        const texts = cell.runs === null ? NOTHING : read(cell.runs);
        return texts === NOTHING ? [] : [{ ...cell, ...texts, cell }];
      });
    const merged = mergedCells(cells, model.merges);
    const shown: SheetCell[] = [];
    for (const place of cells) {
      const { cell, found, reasons, hasPlaceholder } = place;
      problems.addAll(model.name, cellName(cell), reasons);
      // Only the first cell of a merged range is visible.
      if (!hasPlaceholder || merged.get(place)?.isFirst === false) continue;
      shown.push(cell);
      list(model.name, cellName(cell), found);
    }
    if (shown.length > 0) filled.set(model, shown);
  }
  for (const model of sheets)
    for (const { cell, text } of await cellFormulas(workbook, model))
      if (mayContainPlaceholder(text))
        problems.add(
          model.name,
          cellName(cell),
          "A placeholder is in a formula: put it in a separate cell and refer to that cell",
        );
  for (const model of sheets)
    for (const { text } of headerFooters(model)) {
      const report = (reason: string) =>
        problems.add(model.name, null, `${reason} (header or footer)`);
      if (text.length > MAX_TEMPLATE_LENGTH) {
        report(`The text is longer than ${MAX_TEMPLATE_LENGTH} characters`);
        continue;
      }
      const { found, reasons } = fieldsOf(text, fields);
      for (const reason of reasons) report(reason());
      if (kind === "TABLE" && found.length > 0)
        report(
          "Headers and footers are printed on every page and cannot contain placeholders of one record",
        );
      for (const field of found)
        if (fields.get(field) === "image") report(`The picture {{${field}}} needs a cell`);
      list(
        model.name,
        null,
        found.filter((field) => fields.get(field) !== "image"),
      );
    }
  if (count > MAX_PLACEHOLDERS)
    problems.add(
      null,
      null,
      `It contains ${count} placeholders; at most ${MAX_PLACEHOLDERS} are allowed`,
    );
  await findStrayPlaceholders(workbook, sheets, problems);
  if (count === 0 && problems.count === 0)
    problems.add(null, null, "It contains no placeholder, such as {{name}}");
  const rows = kind === "TABLE" ? repeatedRows(filled, problems) : null;
  return { workbook, sheets, placeholders, filled, rows, problems };
}

/** The placeholders of a text. */
interface FoundFields {
  /** Whether there is any placeholder, even an unknown one. */
  readonly hasPlaceholder: boolean;
  /** The known fields. */
  readonly found: readonly string[];
  /** The problems of the other placeholders. */
  readonly reasons: readonly (() => string)[];
}

/** Parses each text once, because many cells may use the same shared string. */
function textReader(
  fields: ReadonlyMap<string, FieldKind>,
): (runs: readonly TextRun[]) => FoundFields {
  const known = new Map<readonly TextRun[], FoundFields>();
  return (runs) => {
    let read = known.get(runs);
    if (!read) {
      read = fieldsOf(runs.map(({ text }) => text).join(""), fields);
      known.set(runs, read);
    }
    return read;
  };
}

const NOTHING: FoundFields = { hasPlaceholder: false, found: [], reasons: [] };

function fieldsOf(text: string, fields: ReadonlyMap<string, FieldKind>): FoundFields {
  if (!mayContainPlaceholder(text)) return NOTHING;
  if (text.length > SHEET_LIMITS.cellText)
    return {
      ...NOTHING,
      reasons: [() => `The text is longer than ${SHEET_LIMITS.cellText} characters`],
    };
  const { pieces, problems } = parsePlaceholders(text);
  const reasons = problems.map((problem) => () => problem);
  const whole = onlyField(pieces);
  let hasPlaceholder = false;
  const found: string[] = [];
  for (const piece of pieces) {
    if (!("field" in piece)) continue;
    hasPlaceholder = true;
    const { field } = piece;
    const kind = fields.get(field);
    if (kind === undefined)
      reasons.push(() => `There is no field ${field}${didYouMean(field, [...fields.keys()])}`);
    else found.push(field);
    if (kind === "image" && whole === null)
      reasons.push(() => `The picture {{${field}}} must be the only content of its cell`);
  }
  return { hasPlaceholder, found, reasons };
}

const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^xl\/charts\//, "a chart"],
  [/^xl\/drawings\//, "a drawing or text box"],
  [/^xl\/(?:comments|threadedComments)/, "a comment"],
  [/^xl\/tables\//, "the headings of a table"],
  [/^xl\/pivot/, "a pivot table"],
];

/** Finds placeholders in places that are not filled, where they would be printed literally. */
async function findStrayPlaceholders(
  workbook: Workbook,
  sheets: readonly SheetModel[],
  problems: ProblemList,
): Promise<void> {
  for (const [name, bytes] of workbook.parts) {
    const place = PLACES.find(([pattern]) => pattern.test(name))?.[1];
    if (place === undefined || !bytes.includes("{{")) continue;
    if (name.endsWith(".xml") && !(await showsPlaceholder(workbook, name))) continue;
    problems.add(null, null, `A placeholder in ${place} is not filled`);
  }
  if (workbook.parts.get(workbook.main)?.includes("{{") === true)
    problems.add(
      null,
      null,
      "A placeholder in the name of a sheet or in a defined name is not filled",
    );
  for (const model of sheets) {
    const { name, part, data } = model;
    const headers = child(part.root, "headerFooter");
    const outside = [
      part.source.slice(0, data.start),
      part.source.slice(data.end, headers?.start),
      headers ? part.source.slice(headers.end) : "",
    ];
    if (outside.some((source) => source.includes("{{")))
      problems.add(
        name,
        null,
        "A placeholder outside of the cells (in a format, validation or link) is not filled",
      );
  }
}

/** A chart caches its cells' texts; the cache is replaced. */
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
