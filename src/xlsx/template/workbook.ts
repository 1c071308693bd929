import type { PackageParts } from "./readPackage.ts";
import type { Relation } from "./relations.ts";
import { readRelations, relationsName } from "./relations.ts";
import { FormulaBudget } from "./formulaBudget.ts";
import { fileProblem } from "./problems.ts";
import type { ElementBudget, XmlElement, XmlPart } from "./xmlTree.ts";
import { attribute, child, parseXml } from "./xmlTree.ts";

export interface SheetPart {
  readonly name: string;
  readonly part: string;
}

/** An unpacked workbook; its parts are parsed once, on demand. */
export interface Workbook {
  readonly parts: PackageParts;
  readonly main: string;
  readonly sheets: readonly SheetPart[];
  readonly date1904: boolean;
  xml(part: string): Promise<XmlPart>;
  relations(part: string): Promise<readonly Relation[]>;
  /** The budget for cell formulas; a shared formula counts for each of its cells. */
  readonly formulas: FormulaBudget;
}

/** The limit for all parts together, enough for about 150,000 cells. */
const MAX_ELEMENTS = 300_000;
const MAX_ATTRIBUTES = 1_500_000;
/** The maximum length of a sheet name; Excel's limit is 31. */
const MAX_NAME_LENGTH = 255;
const MAIN_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const STRICT_NAMESPACE = "http://purl.oclc.org/ooxml/spreadsheetml/main";
const MAIN_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";

/** @throws TemplateError when the package is not an ordinary workbook */
export async function readWorkbook(parts: PackageParts): Promise<Workbook> {
  const budget: ElementBudget = { elements: MAX_ELEMENTS, attributes: MAX_ATTRIBUTES };
  const parsed = new Map<string, Promise<XmlPart>>();
  const xml = (name: string) => {
    const bytes = parts.get(name);
    if (!bytes) return Promise.reject(fileProblem(`The workbook has no part ${name}`));
    const known =
      parsed.get(name) ??
      parseXml(bytes, budget).catch((error: unknown) => {
        throw fileProblem(
          `The part ${name} is not accepted: ${error instanceof Error ? error.message : "bad XML"}`,
        );
      });
    parsed.set(name, known);
    return known;
  };
  const relationsOf = new Map<string, Promise<readonly Relation[]>>();
  const relations = (part: string) => {
    const name = relationsName(part);
    const known =
      relationsOf.get(name) ??
      (parts.has(name) ? xml(name).then((list) => readRelations(list, part)) : Promise.resolve([]));
    relationsOf.set(name, known);
    return known;
  };
  const main = await mainPart(parts, xml, relations);
  const book = await xml(main);
  if (book.root.uri === STRICT_NAMESPACE)
    throw fileProblem(
      "The workbook is saved as Strict Open XML: save it as an ordinary .xlsx workbook",
    );
  if (book.root.uri !== MAIN_NAMESPACE || book.root.local !== "workbook")
    throw fileProblem("This is not a workbook: save it as .xlsx");
  const targets = new Map((await relations(main)).map((relation) => [relation.id, relation]));
  const sheets = (child(book.root, "sheets")?.children ?? []).flatMap((element) => {
    const target = targets.get(relationId(book, element));
    return target?.type === "worksheet"
      ? [{ name: attribute(book, element, "name") ?? "", part: target.target }]
      : [];
  });
  if (sheets.length === 0) throw fileProblem("The workbook has no worksheet");
  if (new Set(sheets.map(({ part }) => part)).size < sheets.length)
    throw fileProblem("Two sheets of the workbook are the same part");
  if (sheets.some(({ name }) => name.length > MAX_NAME_LENGTH))
    throw fileProblem(`A sheet's name is longer than ${MAX_NAME_LENGTH} characters`);
  const properties = child(book.root, "workbookPr");
  const date1904 = properties === undefined ? undefined : attribute(book, properties, "date1904");
  return {
    parts,
    main,
    sheets,
    date1904: date1904 === "1" || date1904 === "true",
    xml,
    relations,
    formulas: new FormulaBudget(),
  };
}

async function mainPart(
  parts: PackageParts,
  xml: (name: string) => Promise<XmlPart>,
  relations: (part: string) => Promise<readonly Relation[]>,
): Promise<string> {
  if (parts.get("mimetype")?.toString().includes("opendocument"))
    throw fileProblem("This is an OpenDocument file: save it as .xlsx");
  const main = (await relations("")).find(({ type }) => type === "officeDocument")?.target;
  if (main === undefined || !parts.has(main) || !parts.has("[Content_Types].xml"))
    throw fileProblem("This is not a workbook: save it as .xlsx");
  if (main.endsWith(".bin")) throw fileProblem("This is a binary .xlsb workbook: save it as .xlsx");
  const type = contentTypeOf(await xml("[Content_Types].xml"), main);
  if (type.includes("macroEnabled"))
    throw fileProblem("The workbook may contain macros: save it as .xlsx");
  if (type !== MAIN_TYPE)
    throw fileProblem(
      "This is not an ordinary workbook, but perhaps a template or add-in: save it as .xlsx",
    );
  return main;
}

function contentTypeOf(types: XmlPart, part: string): string {
  const found = types.root.children.find(
    (element) => attribute(types, element, "PartName")?.toLowerCase() === `/${part}`.toLowerCase(),
  );
  return found === undefined ? "" : (attribute(types, found, "ContentType") ?? "");
}

/** The value of an element's `r:id` attribute, with any prefix. */
export function relationId(part: XmlPart, element: XmlElement): string {
  const tag = part.source.slice(element.start, element.open);
  return /\s[\w.-]+:id\s*=\s*["']([^"']*)["']/.exec(tag)?.[1] ?? "";
}
