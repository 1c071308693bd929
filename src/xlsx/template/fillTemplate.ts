import type { Writable } from "node:stream";
import { toByteStream } from "../toByteStream.ts";
import { SHEET_LIMITS } from "../limits.ts";
import { pacer } from "../pacer.ts";
import { rowCursor } from "../rowCursor.ts";
import { TableNotes } from "../tableNotes.ts";
import type { FieldKind } from "../values.ts";
import type { ZipParts } from "../writeZip.ts";
import { writeZip } from "../writeZip.ts";
import { cellFormulas } from "./cellFormulas.ts";
import { changeParts } from "./changedParts.ts";
import { planValidTemplate } from "./checkTemplate.ts";
import type { Edits } from "./edits.ts";
import type { FillContext, TemplateRecord } from "./filledCells.ts";
import { makeFilledCellWriter } from "./filledCells.ts";
import { fillHeaderFooters } from "./headerFooters.ts";
import { moveContext } from "./moveContext.ts";
import type { NewPart } from "./pictureParts.ts";
import { addPictures, pictureCollector } from "./pictureParts.ts";
import type { TemplateKind, TemplatePlan } from "./plan.ts";
import { ProblemList, fileProblem } from "./problems.ts";
import { makeRowsWriter } from "./rowWriters.ts";
import type { SheetModel } from "./sheetModel.ts";
import type { Spool } from "./spool.ts";
import { openSpool } from "./spool.ts";
import { styleRegistry } from "./styleRegistry.ts";

export interface FillOptions {
  /** The workbook's bytes or the path of its file. */
  readonly template: Buffer | string;
  readonly kind: TemplateKind;
  /** The fields that placeholders may name, with their kinds. */
  readonly fields: ReadonlyMap<string, FieldKind>;
  readonly rows: AsyncIterable<TemplateRecord>;
  /** Ended after the last part; destroyed on errors. */
  readonly output: Writable;
  readonly signal: AbortSignal;
}

/**
 * Fills a template and streams the workbook into `output`. Parts without placeholders and without references to moved
 * rows keep their bytes; in other parts only the necessary text changes.
 *
 * @returns the number of records, and notes for users on values that a cell cannot hold
 * @throws TemplateError for a template that `checkTemplate` rejects, a form without exactly one record, and more rows
 * than a
 *   sheet can hold; the signal's reason when aborted
 */
export async function fillTemplate(
  options: FillOptions,
): Promise<{ rows: number; notes: string[] }> {
  const { kind, fields, output, signal } = options;
  signal.throwIfAborted();
  const rows = rowCursor(options.rows, signal);
  try {
    const plan = await planValidTemplate(options.template, fields, kind);
    return await writeZip(output, signal, (parts) =>
      kind === "FORM"
        ? fillForm(plan, fields, rows, parts)
        : fillTable(plan, fields, rows, parts, signal),
    );
  } catch (error) {
    // Destroyed without the error: it may have no listener yet, and the promise reports the error.
    output.destroy();
    throw error;
  } finally {
    rows.close();
  }
}

type Records = ReturnType<typeof rowCursor<TemplateRecord>>;

async function fillForm(
  plan: TemplatePlan,
  fields: ReadonlyMap<string, FieldKind>,
  rows: Records,
  parts: ZipParts,
): Promise<{ rows: number; notes: string[] }> {
  const record = await rows.next();
  if (record === undefined || (await rows.more()))
    throw fileProblem("A form is filled with exactly one record");
  const filling = await startFilling(plan, fields);
  const context = moveContext(null, 1, new ProblemList());
  const changed = await changeParts(plan, context);
  for (const model of plan.sheets)
    fillHeaderFooters(model, record, filling.context, changed.sheets.get(model.partName));
  for (const [model, cells] of plan.filled)
    for (const cell of cells) {
      const write = makeFilledCellWriter(model, cell, filling.context);
      changed.sheets
        .get(model.partName)
        ?.replace(cell.element.start, cell.element.end, write(cell.row, record, 0));
    }
  await filling.pictures.write(parts);
  await finish(plan, filling, changed, parts, new Map());
  return { rows: 1, notes: filling.context.notes.list() };
}

async function fillTable(
  plan: TemplatePlan,
  fields: ReadonlyMap<string, FieldKind>,
  rows: Records,
  parts: ZipParts,
  signal: AbortSignal,
): Promise<{ rows: number; notes: string[] }> {
  const { rows: block } = plan;
  if (!block) throw fileProblem("It contains no placeholder, such as {{name}}");
  const { model, first, last } = block;
  const height = last - first + 1;
  const filling = await startFilling(plan, fields, height);
  const still = { sheet: model.name, first, last, delta: 0 };
  const formulas = new Map([[model, await cellFormulas(plan.workbook, model)]]);
  const write = makeRowsWriter(plan, model, still, formulas, filling.context);
  const lowest = model.merges.reduce(
    (most, { bottom }) => Math.max(most, bottom),
    Math.max(last, model.rows.at(-1)?.row ?? 0),
  );
  const below = lowest - last;
  const spool = await openSpool();
  try {
    let count = 0;
    const pause = pacer();
    for (let record = await rows.next(); record !== undefined; record = await rows.next()) {
      const at = first + count * height;
      if (at + height - 1 + below > SHEET_LIMITS.rows)
        throw fileProblem(`A sheet holds ${SHEET_LIMITS.rows} rows: there are too many records`);
      await spool.write(write(at, record, count));
      await filling.pictures.write(parts);
      count++;
      await pause();
    }
    // Without records the rows remain, empty, so that references to them stay valid.
    if (count === 0) await spool.write(write(first, {}, 0));
    signal.throwIfAborted();
    const records = Math.max(1, count);
    const context = moveContext(
      { ...still, delta: (records - 1) * height },
      records,
      new ProblemList(),
    );
    const changed = await changeParts(plan, context);
    await finish(
      plan,
      filling,
      changed,
      parts,
      new Map([[model, spool]]),
      (records - 1) * height,
      block,
    );
    return { rows: count, notes: filling.context.notes.list() };
  } finally {
    await spool.close();
  }
}

async function startFilling(
  plan: TemplatePlan,
  fields: ReadonlyMap<string, FieldKind>,
  height = 0,
) {
  const { workbook } = plan;
  const relation = (await workbook.relations(workbook.main)).find(({ type }) => type === "styles");
  const styles = styleRegistry(relation ? await workbook.xml(relation.target) : null);
  const pictures = pictureCollector(height);
  const context: FillContext = {
    fields,
    styles,
    notes: new TableNotes(),
    date1904: workbook.date1904,
    addPicture: pictures.add,
  };
  return { context, pictures, styles, stylesPart: relation?.target ?? "" };
}

/** Writes all parts except the pictures' bytes. */
async function finish(
  plan: TemplatePlan,
  { pictures, styles, stylesPart }: Awaited<ReturnType<typeof startFilling>>,
  changed: Awaited<ReturnType<typeof changeParts>>,
  parts: ZipParts,
  spools: ReadonlyMap<SheetModel, Spool>,
  delta = 0,
  block?: { model: SheetModel; first: number; last: number },
): Promise<void> {
  const { workbook } = plan;
  const edits = new Map<string, Edits>([...changed.sheets, ...changed.others]);
  const added = await addPictures(workbook, pictures.placed, edits);
  const styled = styles.xml();
  const write = (name: string, part: NewPart) =>
    typeof part === "string"
      ? parts.addText(name, part)
      : parts.addStream(name, toByteStream(part()));
  for (const [name, bytes] of workbook.parts) {
    const edit = edits.get(name);
    const part =
      added.get(name) ?? changed.texts.get(name) ?? (name === stylesPart ? styled : null);
    const model = [...spools.keys()].find(({ partName }) => partName === name);
    const spool = model && spools.get(model);
    if (spool && block && edit)
      await parts.addStream(name, toByteStream(sheetXml(block, edit, spool, delta)));
    else if (part != null) await write(name, part);
    else if (edit && !edit.isEmpty) parts.addText(name, edit.apply());
    else parts.addBytes(name, bytes);
  }
  for (const [name, part] of added) if (!workbook.parts.has(name)) await write(name, part);
}

async function* sheetXml(
  { model, first, last }: { model: SheetModel; first: number; last: number },
  edits: Edits,
  spool: Spool,
  delta: number,
): AsyncGenerator<string, void, undefined> {
  const rows = model.rows.filter(({ row }) => row >= first && row <= last);
  const start = rows[0]?.element.start ?? model.data.close;
  const end = rows.at(-1)?.element.end ?? start;
  yield edits.apply(0, start);
  yield* spool.read(delta);
  yield edits.apply(end);
}
