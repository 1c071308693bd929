import { posix } from "node:path";
import { Readable } from "node:stream";
import type { ImageValue } from "../values.ts";
import type { ZipParts } from "../writeZip.ts";
import type { CellRange } from "./a1.ts";
import { Edits } from "./edits.ts";
import type { PlacedPicture } from "./pictures.ts";
import { registerPicture, pictureXml, placePicture } from "./pictures.ts";
import {
  EMPTY_RELATIONS,
  RELATION_TYPES,
  readRelations,
  relationXml,
  relationsName,
} from "./relations.ts";
import type { SheetCell, SheetModel } from "./sheetModel.ts";
import type { Workbook } from "./workbook.ts";
import { relationId } from "./workbook.ts";
import type { XmlPart } from "./xmlTree.ts";
import { attribute, child, parseXml } from "./xmlTree.ts";

/** Collects pictures while cells are written: bytes are passed on at once, positions are stored. */
export interface PictureCollector {
  readonly placed: ReadonlyMap<SheetModel, readonly PlacedPicture[]>;
  /** Adds a picture; false when a workbook cannot hold it. */
  readonly add: (model: SheetModel, cell: SheetCell, image: ImageValue, index: number) => boolean;
  /** Writes the bytes added since the last call. */
  write(parts: ZipParts): Promise<void>;
}

/** The merged range that starts with a cell, or the cell itself. */
function boxOf(model: SheetModel, { row, column }: SheetCell): CellRange {
  let merges = mergesOf.get(model);
  if (!merges) {
    merges = new Map(model.merges.map((range) => [`${range.top} ${range.left}`, range]));
    mergesOf.set(model, merges);
  }
  return merges.get(`${row} ${column}`) ?? { top: row, bottom: row, left: column, right: column };
}

/** Merged ranges by their first cells. */
const mergesOf = new WeakMap<SheetModel, ReadonlyMap<string, CellRange>>();

/** `height` is the number of repeated rows, by which each record is below the previous one. */
export function pictureCollector(height = 0): PictureCollector {
  const placed = new Map<SheetModel, PlacedPicture[]>();
  const written = new Set<string>();
  const waiting = new Map<string, Uint8Array>();
  return {
    placed,
    add: (model, cell, image, index) => {
      const picture = registerPicture(image);
      // An invalid picture leaves its cell empty, because Excel would report it as damage.
      if (!picture) return false;
      const { media, size } = picture;
      if (!written.has(media)) waiting.set(media, image.bytes);
      const box = boxOf(model, cell);
      const list = placed.get(model) ?? [];
      list.push(placePicture(media, size, model, box, index * height));
      placed.set(model, list);
      return true;
    },
    write: async (parts) => {
      for (const [media, bytes] of waiting) {
        written.add(media);
        // Pictures are already compressed.
        await parts.addStream(media, Readable.from([bytes]), 0);
      }
      waiting.clear();
    },
  };
}

const DRAWING_TYPE = "application/vnd.openxmlformats-officedocument.drawing+xml";
const EMPTY_DRAWING = Buffer.from(
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"></xdr:wsDr>`,
);
// A control character as marker, because XML cannot contain it.
const ANCHORS = "\u0001";
/** The elements that the schema places before `<drawing>`. */
const BEFORE_DRAWING = new Set(
  (
    "sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection protectedRanges scenarios autoFilter sortState " +
    "dataConsolidate customSheetViews mergeCells phoneticPr conditionalFormatting dataValidations hyperlinks printOptions pageMargins " +
    "pageSetup headerFooter rowBreaks colBreaks customProperties cellWatches ignoredErrors smartTags"
  ).split(" "),
);

/** A part to write: a string, or a generator where its size grows with the records. */
export type NewPart = string | (() => Generator<string>);

/**
 * Adds the pictures to their sheets' drawings, which are created if missing. Returns the parts that are not in `edits`,
 * by name.
 */
export async function addPictures(
  workbook: Workbook,
  placed: PictureCollector["placed"],
  edits: Map<string, Edits>,
): Promise<Map<string, NewPart>> {
  const added = new Map<string, NewPart>();
  if (placed.size === 0) return added;
  const editsOf = async (name: string, empty: Buffer): Promise<{ own: Edits; isNew: boolean }> => {
    const known = edits.get(name);
    if (known) return { own: known, isNew: false };
    const isNew = !workbook.parts.has(name);
    const part: XmlPart = isNew
      ? await parseXml(empty, { elements: 10, attributes: 10 })
      : await workbook.xml(name);
    const own = new Edits(part);
    if (!isNew) edits.set(name, own);
    return { own, isNew };
  };
  const types = (await editsOf("[Content_Types].xml", EMPTY_DRAWING)).own;
  const extensions = new Set(
    types.part.root.children.map((element) =>
      attribute(types.part, element, "Extension")?.toLowerCase(),
    ),
  );
  const used = new Set(
    [...placed.values()].flat().map(({ media }) => posix.extname(media).slice(1)),
  );
  for (const extension of used)
    if (!extensions.has(extension))
      types.append(
        types.part.root,
        `<Default Extension="${extension}" ContentType="image/${extension}"/>`,
      );
  for (const [model, pictures] of placed) {
    const drawing = await drawingOf(workbook, model, editsOf, types, added);
    const list = await editsOf(drawing.name, EMPTY_DRAWING);
    const relations = await editsOf(relationsName(drawing.name), EMPTY_RELATIONS);
    const ids = new Map<string, string>();
    const taken = new Set(readRelations(relations.own.part, drawing.name).map(({ id }) => id));
    let shapes = 0;
    for (const found of list.own.part.source.matchAll(/<(?:\w+:)?cNvPr\b[^>]*?\sid="(\d+)"/g))
      shapes = Math.max(shapes, Number(found[1]));
    const links: string[] = [];
    for (const { media } of pictures) {
      if (ids.has(media)) continue;
      let id = `rIdFilled${ids.size + 1}`;
      while (taken.has(id)) id += "x";
      ids.set(media, id);
      links.push(relationXml(drawing.name, id, "image", media));
    }
    list.own.append(list.own.part.root, ANCHORS);
    const [before = "", after = ""] = list.own.apply().split(ANCHORS);
    const first = shapes + 1;
    added.set(drawing.name, function* () {
      yield before;
      for (const [index, picture] of pictures.entries())
        yield pictureXml(picture, ids.get(picture.media) ?? "", first + index);
      yield after;
    });
    relations.own.append(relations.own.part.root, links.join(""));
    if (relations.isNew) added.set(relationsName(drawing.name), relations.own.apply());
  }
  return added;
}

async function drawingOf(
  workbook: Workbook,
  model: SheetModel,
  editsOf: (name: string, empty: Buffer) => Promise<{ own: Edits; isNew: boolean }>,
  types: Edits,
  added: Map<string, NewPart>,
): Promise<{ name: string }> {
  const found = child(model.part.root, "drawing");
  if (found) {
    const id = relationId(model.part, found);
    const target = (await workbook.relations(model.partName)).find(
      (relation) => relation.id === id,
    )?.target;
    if (target !== undefined && workbook.parts.has(target)) return { name: target };
  }
  let number = 1;
  while (
    workbook.parts.has(`xl/drawings/drawing${number}.xml`) ||
    added.has(`xl/drawings/drawing${number}.xml`)
  )
    number++;
  const name = `xl/drawings/drawing${number}.xml`;
  types.append(types.part.root, `<Override PartName="/${name}" ContentType="${DRAWING_TYPE}"/>`);
  const relations = await editsOf(relationsName(model.partName), EMPTY_RELATIONS);
  const id = "rIdFilledDrawing";
  relations.own.append(relations.own.part.root, relationXml(model.partName, id, "drawing", name));
  if (relations.isNew) added.set(relationsName(model.partName), relations.own.apply());
  const sheet = (await editsOf(model.partName, EMPTY_DRAWING)).own;
  const { root } = model.part;
  const next = root.children.find(({ local }) => !BEFORE_DRAWING.has(local));
  const at = next?.start ?? root.close;
  sheet.replace(at, at, `<${root.prefix}drawing xmlns:r="${RELATION_TYPES}" r:id="${id}"/>`);
  return { name };
}
