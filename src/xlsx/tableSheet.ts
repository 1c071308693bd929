import { columnName } from "./columns.ts";
import { toCellContent } from "./content.ts";
import { SHEET_LIMITS } from "./limits.ts";
import { isRiskyText } from "./riskyText.ts";
import { pacer } from "./pacer.ts";
import type { RowCursor } from "./rowCursor.ts";
import type { TableNotes } from "./tableNotes.ts";
import type { ColumnStyles, tableStyles } from "./tableStyles.ts";
import type { CellKind, CellValue, TableColumn } from "./values.ts";
import { textElement } from "./xmlText.ts";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
/** In UTF-16 units. */
const CHUNK = 64 * 1024;
const LINK = /^(?:https?:\/\/|mailto:)[^\s\p{Cc}"<>\\^`{|}]+$/iu;

export interface SheetOptions {
  readonly columns: readonly TableColumn[];
  readonly styles: ReturnType<typeof tableStyles>;
  /** `rows` is updated while the sheet is written, and hyperlink URLs are added to `links`. */
  readonly sheet: { readonly name: string; rows: number };
  readonly links: string[];
  readonly rows: RowCursor<readonly CellValue[]>;
  readonly notes: TableNotes;
  readonly rowsPerSheet: number;
  readonly first: boolean;
}

/** The XML of one worksheet, in pieces. Ends with the last row or when the sheet is full. */
export async function* sheetXml(options: SheetOptions): AsyncGenerator<Buffer, void, undefined> {
  const { columns, sheet, links, rows, notes, rowsPerSheet } = options;
  const names = columns.map((_, index) => columnName(index + 1));
  const linked: string[] = [];
  let xml = headXml(options, names);
  const pause = pacer();
  while (sheet.rows < rowsPerSheet) {
    const row = await rows.next();
    if (row === undefined) break;
    await pause();
    const number = ++sheet.rows;
    xml += `<row r="${number}">`;
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index];
      const styles = options.styles.columns[index];
      const value = row[index];
      if (value === null || value === undefined || column === undefined || styles === undefined)
        continue;
      const cell = `${names[index] ?? ""}${number}`;
      const content = toCellContent(value, column.kind);
      const place = () => (options.first ? cell : `${sheet.name}!${cell}`);
      if (content.note !== undefined) notes.add(index, column.title, content.note, place);
      switch (content.type) {
        case "text":
          xml += textCell(cell, content.value, styles);
          if (column.kind === "url" && isLink(content.value)) {
            if (links.length < SHEET_LIMITS.hyperlinks) {
              links.push(content.value);
              linked.push(cell);
            } else notes.add(index, column.title, "linkLimit", place);
          }
          break;
        case "boolean":
          xml += `<c r="${cell}" s="${styles.value}" t="b"><v>${content.value ? 1 : 0}</v></c>`;
          break;
        case "empty":
          break;
        default:
          xml += `<c r="${cell}" s="${styles.value}"><v>${content.value}</v></c>`;
      }
      if (xml.length >= CHUNK) {
        yield Buffer.from(xml);
        xml = "";
      }
    }
    xml += "</row>";
    if (xml.length >= CHUNK) {
      yield Buffer.from(xml);
      xml = "";
    }
  }
  for (const piece of tailXml(sheet.rows, names.at(-1) ?? "A", linked)) {
    xml += piece;
    if (xml.length < CHUNK) continue;
    yield Buffer.from(xml);
    xml = "";
  }
  yield Buffer.from(xml);
}

function isLink(text: string): boolean {
  return text.length <= SHEET_LIMITS.hyperlinkAddress && LINK.test(text) && URL.canParse(text);
}

function textCell(cell: string, text: string, styles: ColumnStyles): string {
  const lines = text.includes("\n");
  const style = isRiskyText(text)
    ? lines
      ? styles.quotedWrapped
      : styles.quoted
    : lines
      ? styles.wrapped
      : styles.value;
  return `<c r="${cell}" s="${style}" t="inlineStr"><is>${textElement(text)}</is></c>`;
}

const DEFAULT_WIDTHS: Readonly<Record<CellKind, number>> = {
  text: 24,
  url: 40,
  integer: 12,
  decimal: 12,
  boolean: 10,
  date: 12,
  datetime: 20,
  json: 40,
};
/** Space for the filter button. */
const BUTTON = 4;

function headXml({ columns, styles, first }: SheetOptions, names: readonly string[]): string {
  const widths = columns.map(({ title, kind, width }, index) => {
    const chosen = width ?? Math.min(60, Math.max(title.length + BUTTON, DEFAULT_WIDTHS[kind]));
    return `<col min="${index + 1}" max="${index + 1}" width="${chosen}" customWidth="1"/>`;
  });
  const titles = columns.map(({ title }, index) => {
    const content = toCellContent(title, "text");
    const text = content.type === "text" ? content.value : "";
    const style = isRiskyText(text) ? styles.header.quoted : styles.header.plain;
    return `<c r="${names[index] ?? ""}1" s="${style}" t="inlineStr"><is>${textElement(text)}</is></c>`;
  });
  return (
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="${MAIN}" xmlns:r="${OFFICE}">` +
    `<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>` +
    `<sheetViews><sheetView${first ? ' tabSelected="1"' : ""} workbookViewId="0">` +
    `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>` +
    `<selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews>` +
    `<sheetFormatPr defaultRowHeight="15"/><cols>${widths.join("")}</cols>` +
    `<sheetData><row r="1">${titles.join("")}</row>`
  );
}

function* tailXml(
  rows: number,
  lastColumn: string,
  linked: readonly string[],
): Generator<string, void, undefined> {
  yield `</sheetData><autoFilter ref="A1:${lastColumn}${rows}"/>`;
  if (linked.length > 0) {
    yield "<hyperlinks>";
    for (const [index, cell] of linked.entries())
      yield `<hyperlink ref="${cell}" r:id="rId${index + 1}"/>`;
    yield "</hyperlinks>";
  }
  yield `<pageMargins left="0.5" right="0.5" top="0.6" bottom="0.6" header="0.3" footer="0.3"/>`;
  yield `<pageSetup paperSize="9" orientation="landscape" fitToHeight="0"/>`;
  // Product numbers with leading zeros are text on purpose, so the warning is suppressed.
  yield `<ignoredErrors><ignoredError sqref="A1:${lastColumn}${rows}" numberStoredAsText="1"/></ignoredErrors></worksheet>`;
}
