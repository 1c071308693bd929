import { posix } from "node:path";
import { SaxesParser } from "saxes";
import type { SaxesTagNS } from "saxes";
import { parseCell, parseRange } from "../../../src/xlsx/template/a1.ts";
import { readParts } from "./readers.ts";
import { schemaProblems } from "./schemas.ts";

interface Node {
  local: string;
  attributes: Map<string, string>;
  children: Node[];
  text: string;
}

/** The child elements of a worksheet, in the order that Excel requires. */
const worksheetOrder = [
  "sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection protectedRanges scenarios autoFilter",
  "sortState dataConsolidate customSheetViews mergeCells phoneticPr conditionalFormatting dataValidations hyperlinks printOptions",
  "pageMargins pageSetup headerFooter rowBreaks colBreaks customProperties cellWatches ignoredErrors smartTags drawing",
  "legacyDrawing legacyDrawingHF picture oleObjects controls webPublishItems tableParts extLst",
].flatMap((line) => line.split(" "));

/**
 * Lists what Excel would report as damage in a package: missing content types, dangling relationships, wrong order of
 * elements, cells and rows, indexes out of range, duplicate names, overlapping merged ranges, invalid numbers and
 * overlong texts. Validates against the published schemas if they are available.
 */
export async function packageProblems(bytes: Buffer): Promise<string[]> {
  const parts = await readParts(bytes);
  const problems: string[] = [];
  const trees = new Map<string, Node>();
  for (const [name, content] of parts)
    if (/\.(?:xml|rels)$/.test(name)) trees.set(name, parse(content.toString("utf8")));
  contentTypeProblems(parts, trees, problems);
  const relations = relationProblems(parts, trees, problems);
  const workbook = trees.get("xl/workbook.xml");
  if (workbook === undefined) return [...problems, "the workbook is missing"];
  const sheets = all(workbook, "sheet").map((sheet) => ({
    name: sheet.attributes.get("name") ?? "",
    part: relations.get("xl/workbook.xml")?.get(sheet.attributes.get("r:id") ?? "") ?? "",
  }));
  const lowered = sheets.map(({ name }) => name.toLowerCase());
  if (new Set(lowered).size < lowered.length) problems.push("two sheets have the same name");
  for (const { name } of sheets)
    if (name === "" || name.length > 31 || /[:\\/?*[\]]|^'|'$/.test(name))
      problems.push(`a sheet cannot be named ${name}`);
  const names = all(workbook, "definedName").map(
    ({ attributes }) =>
      `${attributes.get("name")?.toLowerCase()} in ${attributes.get("localSheetId") ?? "all"}`,
  );
  if (new Set(names).size < names.length) problems.push("two defined names are the same");
  for (const { attributes } of all(workbook, "definedName"))
    if (Number(attributes.get("localSheetId") ?? 0) >= sheets.length)
      problems.push("a defined name refers to a missing sheet");
  const styles = trees.get("xl/styles.xml");
  const formats = styles ? countedFormats(styles, problems) : 1;
  const strings = trees.get("xl/sharedStrings.xml")?.children.length ?? 0;
  for (const { name, part } of sheets) {
    const tree = trees.get(part);
    if (tree === undefined) problems.push(`the sheet ${name} has no part`);
    else sheetProblems(name, tree, { formats, strings }, problems);
  }
  return [...problems, ...schemaProblems(parts)];
}

function contentTypeProblems(
  parts: ReadonlyMap<string, Buffer>,
  trees: ReadonlyMap<string, Node>,
  problems: string[],
): void {
  const types = trees.get("[Content_Types].xml");
  const extensions = new Set(
    types?.children
      .filter(({ local }) => local === "Default")
      .map(({ attributes }) => attributes.get("Extension")?.toLowerCase()),
  );
  const overrides = (types?.children ?? [])
    .filter(({ local }) => local === "Override")
    .map(({ attributes }) => attributes.get("PartName") ?? "");
  if (new Set(overrides).size < overrides.length) problems.push("a part has two content types");
  for (const part of overrides)
    if (!parts.has(part.slice(1))) problems.push(`${part} has a content type but is missing`);
  for (const name of parts.keys()) {
    if (name === "[Content_Types].xml") continue;
    const isXml = name.endsWith(".xml");
    if (overrides.includes(`/${name}`) || (!isXml && extensions.has(name.split(".").at(-1))))
      continue;
    problems.push(`${name} has no content type`);
  }
}

/** The targets of relationships inside the package, by part and id. */
function relationProblems(
  parts: ReadonlyMap<string, Buffer>,
  trees: ReadonlyMap<string, Node>,
  problems: string[],
): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [name, tree] of trees) {
    if (!name.endsWith(".rels")) continue;
    const owner = posix.join(posix.dirname(posix.dirname(name)), posix.basename(name, ".rels"));
    const own = new Map<string, string>();
    found.set(owner === "." ? "" : owner, own);
    for (const { attributes } of tree.children) {
      const id = attributes.get("Id") ?? "";
      if (own.has(id)) problems.push(`${name}: ${id} exists twice`);
      const target = attributes.get("Target") ?? "";
      if (attributes.get("TargetMode") === "External") {
        own.set(id, target);
        continue;
      }
      const path = target.startsWith("/")
        ? target.slice(1)
        : posix.join(posix.dirname(owner), target);
      own.set(id, path);
      if (!parts.has(path)) problems.push(`${name}: ${id} leads to ${path}, which is not there`);
    }
    const ownerTree = trees.get(owner);
    for (const id of ownerTree ? usedIds(ownerTree) : [])
      if (!own.has(id)) problems.push(`${owner} uses the relation ${id}, which is not there`);
  }
  return found;
}

function usedIds(node: Node): string[] {
  const own = [...node.attributes].filter(([name]) => /^r:/.test(name)).map(([, value]) => value);
  return [...own, ...node.children.flatMap(usedIds)];
}

/** Counts the cell formats and checks everything that they refer to. */
function countedFormats(styles: Node, problems: string[]): number {
  const list = (name: string) =>
    styles.children.find(({ local }) => local === name)?.children ?? [];
  const custom = new Set(list("numFmts").map(({ attributes }) => attributes.get("numFmtId")));
  for (const { attributes } of list("cellXfs")) {
    const index = (name: string) => Number(attributes.get(name) ?? 0);
    for (const [name, of] of [
      ["fontId", "fonts"],
      ["fillId", "fills"],
      ["borderId", "borders"],
      ["xfId", "cellStyleXfs"],
    ] as const)
      if (index(name) >= list(of).length) problems.push(`a cell format's ${name} is out of range`);
    if (index("numFmtId") >= 164 && !custom.has(attributes.get("numFmtId")))
      problems.push(`the number format ${index("numFmtId")} is not there`);
  }
  for (const node of styles.children) {
    const count = node.attributes.get("count");
    if (count !== undefined && Number(count) !== node.children.length)
      problems.push(`${node.local} has count ${count} but ${node.children.length} children`);
  }
  return list("cellXfs").length;
}

function sheetProblems(
  sheet: string,
  tree: Node,
  { formats, strings }: { formats: number; strings: number },
  problems: string[],
): void {
  const report = (problem: string) => problems.push(`${sheet}: ${problem}`);
  const order = tree.children.map(({ local }) => worksheetOrder.indexOf(local));
  const known = order.filter((place) => place !== -1);
  if (known.some((place, index) => place < (known[index - 1] ?? 0)))
    report(`its elements are out of order: ${tree.children.map(({ local }) => local).join(" ")}`);
  let lastRow = 0;
  for (const row of all(tree, "row")) {
    const number = Number(row.attributes.get("r"));
    if (!(number > lastRow && number <= 1_048_576)) report(`row ${number} follows row ${lastRow}`);
    lastRow = number;
    let lastColumn = 0;
    for (const cell of row.children) {
      const name = cell.attributes.get("r") ?? "";
      const place = parseCell(name);
      if (place?.row !== number || place.column <= lastColumn) report(`${name} is out of order`);
      lastColumn = place?.column ?? lastColumn;
      if (Number(cell.attributes.get("s") ?? 0) >= formats) report(`${name} has no such style`);
      const value = cell.children.find(({ local }) => local === "v")?.text;
      const type = cell.attributes.get("t") ?? "n";
      if (type === "s" && !(Number(value) < strings)) report(`${name} has no such shared string`);
      if (type === "n" && value !== undefined && !Number.isFinite(Number(value)))
        report(`${name} holds ${value}, which is not a number`);
      if (type === "b" && !/^[01]$/.test(value ?? "")) report(`${name} is neither true nor false`);
      const texts = all(cell, "t")
        .map(({ text }) => text)
        .join("");
      // An escaped character is written as seven.
      if (texts.replace(/_x[0-9A-F]{4}_/g, "?").length > 32_767) report(`${name} is too long`);
    }
  }
  const merges = all(tree, "mergeCell").map(({ attributes }) =>
    parseRange(attributes.get("ref")!)!,
  );
  for (const [index, a] of merges.entries())
    for (const b of merges.slice(0, index))
      if (a.left <= b.right && b.left <= a.right && a.top <= b.bottom && b.top <= a.bottom)
        report("merged ranges overlap");
  for (const text of ["oddHeader", "oddFooter"].flatMap((name) => all(tree, name)))
    if (text.text.length > 255) report(`its ${text.local} is too long`);
  for (const [list, item] of [
    ["mergeCells", "mergeCell"],
    ["dataValidations", "dataValidation"],
  ] as const)
    for (const node of all(tree, list))
      if (Number(node.attributes.get("count") ?? all(node, item).length) !== all(node, item).length)
        report(`${list} are counted wrongly`);
}

function all(node: Node, local: string): Node[] {
  return [
    ...(node.local === local ? [node] : []),
    ...node.children.flatMap((child) => all(child, local)),
  ];
}

function parse(xml: string): Node {
  const parser = new SaxesParser({ xmlns: true });
  const root: Node = { local: "", attributes: new Map(), children: [], text: "" };
  const open = [root];
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", (tag: SaxesTagNS) => {
    const node: Node = {
      local: tag.local,
      attributes: new Map(
        Object.values(tag.attributes).map(({ name, value }) => [name, value] as const),
      ),
      children: [],
      text: "",
    };
    open.at(-1)!.children.push(node);
    open.push(node);
  });
  parser.on("text", (text) => {
    open.at(-1)!.text += text;
  });
  parser.on("closetag", () => open.pop());
  parser.write(xml).close();
  return root.children[0]!;
}
