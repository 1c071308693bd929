import { columnName } from "./columns.ts";
import { xmlText } from "./xmlText.ts";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const SHEET_ML = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** A written sheet: its name and its last row. */
export interface WrittenSheet {
  readonly name: string;
  readonly rows: number;
}

export interface DocumentProperties {
  readonly title?: string | undefined;
  readonly creator?: string | undefined;
  readonly created?: Date | undefined;
}

/** The package parts of a table other than the worksheets, by name. */
export function tableParts(
  sheets: readonly WrittenSheet[],
  columns: number,
  styles: string,
  properties: DocumentProperties,
): Map<string, string> {
  return new Map<string, string>([
    ["xl/styles.xml", styles],
    ["xl/workbook.xml", workbookXml(sheets, columns)],
    ["xl/_rels/workbook.xml.rels", workbookRelations(sheets.length)],
    ["docProps/core.xml", coreXml(properties)],
    [
      "docProps/app.xml",
      `${HEAD}<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Application>Microsoft Excel</Application></Properties>`,
    ],
    ["_rels/.rels", packageRelations()],
    ["[Content_Types].xml", contentTypes(sheets.length)],
  ]);
}

function workbookXml(sheets: readonly WrittenSheet[], columns: number): string {
  const quoted = (name: string) => `'${name.replaceAll("'", "''")}'`;
  const names = sheets.flatMap(({ name, rows }, index) => [
    `<definedName name="_xlnm._FilterDatabase" localSheetId="${index}" hidden="1">` +
      `${xmlText(quoted(name))}!$A$1:$${columnName(columns)}$${rows}</definedName>`,
    `<definedName name="_xlnm.Print_Titles" localSheetId="${index}">${xmlText(quoted(name))}!$1:$1</definedName>`,
  ]);
  const list = sheets.map(
    ({ name }, index) =>
      `<sheet name="${xmlText(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
  );
  return (
    `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><bookViews><workbookView/></bookViews>` +
    `<sheets>${list.join("")}</sheets><definedNames>${names.join("")}</definedNames></workbook>`
  );
}

function relationship(id: number, type: string, target: string, external = false): string {
  return `<Relationship Id="rId${id}" Type="${type}" Target="${xmlText(target)}"${external ? ' TargetMode="External"' : ""}/>`;
}

const RELATIONSHIPS = `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">`;
const RELATIONSHIPS_END = "</Relationships>";

function relationships(list: readonly string[]): string {
  return `${RELATIONSHIPS}${list.join("")}${RELATIONSHIPS_END}`;
}

function workbookRelations(sheets: number): string {
  const list = Array.from({ length: sheets }, (_, index) =>
    relationship(index + 1, `${OFFICE}/worksheet`, `worksheets/sheet${index + 1}.xml`),
  );
  return relationships([...list, relationship(sheets + 1, `${OFFICE}/styles`, "styles.xml")]);
}

/** The part with a sheet's hyperlink URLs, in pieces because there may be many. */
export function* linkRelations(links: readonly string[]): Generator<string, void, undefined> {
  yield RELATIONSHIPS;
  for (const [index, link] of links.entries())
    yield relationship(index + 1, `${OFFICE}/hyperlink`, link, true);
  yield RELATIONSHIPS_END;
}

function packageRelations(): string {
  return relationships([
    relationship(1, `${OFFICE}/officeDocument`, "xl/workbook.xml"),
    relationship(2, `${PACKAGE}/relationships/metadata/core-properties`, "docProps/core.xml"),
    relationship(3, `${OFFICE}/extended-properties`, "docProps/app.xml"),
  ]);
}

function contentTypes(sheets: number): string {
  const overrides = [
    ["/xl/workbook.xml", `${SHEET_ML}.sheet.main+xml`],
    ["/xl/styles.xml", `${SHEET_ML}.styles+xml`],
    ["/docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml"],
    ["/docProps/app.xml", "application/vnd.openxmlformats-officedocument.extended-properties+xml"],
    ...Array.from({ length: sheets }, (_, index) => [
      `/xl/worksheets/sheet${index + 1}.xml`,
      `${SHEET_ML}.worksheet+xml`,
    ]),
  ].map(([part, type]) => `<Override PartName="${part}" ContentType="${type}"/>`);
  return (
    `${HEAD}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>${overrides.join("")}</Types>`
  );
}

function coreXml({ title, creator, created = new Date() }: DocumentProperties): string {
  const moment = created.toISOString().replace(/\.\d+Z$/, "Z");
  return (
    `${HEAD}<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"` +
    ` xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
    (title === undefined ? "" : `<dc:title>${xmlText(title)}</dc:title>`) +
    (creator === undefined ? "" : `<dc:creator>${xmlText(creator)}</dc:creator>`) +
    `<dcterms:created xsi:type="dcterms:W3CDTF">${moment}</dcterms:created></cp:coreProperties>`
  );
}
