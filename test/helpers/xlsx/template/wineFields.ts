import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import yazl from "yazl";
import type { TemplateRecord } from "../../../../src/xlsx/template/filledCells.ts";
import { fillTemplate } from "../../../../src/xlsx/template/fillTemplate.ts";
import type { TemplateKind } from "../../../../src/xlsx/template/plan.ts";
import type { FieldKind } from "../../../../src/xlsx/values.ts";
import { collect, never, streamOf } from "../collect.ts";
import { readParts } from "../readers.ts";

export const FIELDS: ReadonlyMap<string, FieldKind> = new Map<string, FieldKind>([
  ["number", "text"],
  ["name", "text"],
  ["vintage", "integer"],
  ["price", "decimal"],
  ["stock", "integer"],
  ["since", "date"],
  ["changed", "datetime"],
  ["organic", "boolean"],
  ["description", "text"],
  ["picture", "image"],
]);

/** A workbook made with LibreOffice, see makeFixtures.py in its folder. */
export function fixture(name: "priceList" | "tastingSheet" | "twoRows"): Promise<Buffer> {
  return readFile(join(import.meta.dirname, "../../../fixtures/xlsx", `${name}.xlsx`));
}

/** Creates a package from parts. */
export async function createPackage(
  parts: Iterable<readonly [string, Buffer | string]>,
): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of parts) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A workbook with parts changed, added or (null) removed. */
export async function changeParts(
  workbook: Buffer,
  changes: Readonly<Record<string, ((xml: string) => string) | string | Buffer | null>>,
): Promise<Buffer> {
  const parts = new Map<string, Buffer | string>(await readParts(workbook));
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) parts.delete(name);
    else
      parts.set(name, typeof change === "function" ? changedText(parts.get(name), change) : change);
  }
  return createPackage(parts);
}

function changedText(
  content: Buffer | string | undefined,
  change: (xml: string) => string,
): string {
  const before = String(content ?? "");
  const after = change(before);
  if (after === before) throw new Error("the change has no effect");
  return after;
}

const SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/**
 * A plain workbook: cells by sheet and name, texts as inline strings, formulas with `=`; `tail` follows a sheet's
 * cells.
 */
export function smallBook(
  sheets: Readonly<Record<string, Readonly<Record<string, string | number>>>>,
  {
    tails = {},
    names = {},
  }: { tails?: Readonly<Record<string, string>>; names?: Readonly<Record<string, string>> } = {},
): Promise<Buffer> {
  const list = Object.entries(sheets);
  const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const parts: [string, string][] = list.map(([sheet, cells], index) => {
    const rows = new Map<number, string[]>();
    const sorted = Object.entries(cells).toSorted(
      ([a], [b]) => a.length - b.length || (a < b ? -1 : 1),
    );
    for (const [name, value] of sorted) {
      const row = Number(name.replace(/\D/g, ""));
      const xml =
        typeof value === "number"
          ? `<c r="${name}"><v>${value}</v></c>`
          : value.startsWith("=")
            ? `<c r="${name}"><f>${escape(value.slice(1))}</f><v>0</v></c>`
            : `<c r="${name}" t="inlineStr"><is><t>${escape(value)}</t></is></c>`;
      rows.set(row, [...(rows.get(row) ?? []), xml]);
    }
    const data = [...rows]
      .sort(([a], [b]) => a - b)
      .map(([row, xml]) => `<row r="${row}">${xml.join("")}</row>`);
    return [
      `xl/worksheets/sheet${index + 1}.xml`,
      `<worksheet xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheetData>${data.join("")}</sheetData>${tails[sheet] ?? ""}</worksheet>`,
    ];
  });
  const defined = Object.entries(names).map(
    ([name, text]) => `<definedName name="${name}">${escape(text)}</definedName>`,
  );
  return createPackage([
    [
      "[Content_Types].xml",
      `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
        `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>` +
        parts
          .map(([name]) => `<Override PartName="/${name}" ContentType="${TYPE}.worksheet+xml"/>`)
          .join("") +
        `</Types>`,
    ],
    [
      "_rels/.rels",
      `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ],
    [
      "xl/workbook.xml",
      `<workbook xmlns="${SHEET}" xmlns:r="${OFFICE}"><sheets>${list.map(([name], index) => `<sheet name="${escape(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`).join("")}</sheets>` +
        `${defined.length > 0 ? `<definedNames>${defined.join("")}</definedNames>` : ""}</workbook>`,
    ],
    [
      "xl/_rels/workbook.xml.rels",
      `<Relationships xmlns="${PACKAGE}/relationships">${list.map((_, index) => `<Relationship Id="rId${index + 1}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`).join("")}</Relationships>`,
    ],
    ...parts,
  ]);
}

/** Fills a template with records. */
export async function fillWithRecords(
  template: Buffer,
  kind: TemplateKind,
  records: readonly TemplateRecord[],
): Promise<{ bytes: Buffer; rows: number; notes: string[] }> {
  const { output, bytes } = collect();
  const { rows, notes } = await fillTemplate({
    template,
    kind,
    fields: FIELDS,
    rows: streamOf(records),
    output,
    signal: never(),
  });
  return { bytes: bytes(), rows, notes };
}

/** A grey PNG of this size. */
export function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const numbers = Buffer.alloc(8);
    numbers.writeUInt32BE(data.length, 0);
    numbers.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([numbers.subarray(0, 4), body, numbers.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 0, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width, 128)]);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

export const WINES: readonly TemplateRecord[] = [1, 2, 3, 4].map((number) => ({
  number: `00${number}`,
  name: number === 2 ? "=1+1 <b>" : `Château ${number}`,
  vintage: 2000 + number,
  price: `${number}00.50`,
  stock: number * 10,
  since: `2020-01-0${number}`,
  changed: new Date(`2026-01-0${number}T12:00:00Z`),
  organic: number % 2 === 0,
  description: "Fine\nand round",
  picture: { bytes: png(30, 80), type: "image/png" },
}));
