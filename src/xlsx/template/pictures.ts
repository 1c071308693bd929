import { createHash } from "node:crypto";
import { imageSize } from "image-size";
import type { ImageValue } from "../values.ts";
import type { CellRange } from "./a1.ts";
import type { SheetModel } from "./sheetModel.ts";
import { attribute, child } from "./xmlTree.ts";

/** EMU, the unit of drawings, in a pixel. */
const EMU = 9_525;
/** Pixels left free around a picture in its cell. */
const MARGIN = 2;
/** Pixels of a digit in the standard font. */
const DIGIT = 7;
const DEFAULT_WIDTH = 8.43;
const DEFAULT_HEIGHT = 15;

/** A picture over a cell, its aspect kept. */
export interface PlacedPicture {
  /** The part that holds it. */
  readonly media: string;
  /** From 0, with pixels from the cell's corner. */
  readonly column: number;
  readonly row: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface KnownPicture {
  readonly media: string;
  readonly size: { readonly width: number; readonly height: number } | null;
}
/** The same bytes often stand for many records. */
const known = new WeakMap<Uint8Array, KnownPicture>();

/** Where in the package a picture's bytes go, the same bytes once, and its size in pixels; null if the bytes are no such picture. */
export function knowPicture({ bytes, type, width, height }: ImageValue): {
  media: string;
  size: { width: number; height: number };
} | null {
  let found = known.get(bytes);
  if (!found) {
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
    const extension = type === "image/png" ? "png" : "jpeg";
    found = { media: `xl/media/filled${hash}.${extension}`, size: readSize(bytes, type) };
    known.set(bytes, found);
  }
  if (!found.size) return null;
  const size = { width: width ?? found.size.width, height: height ?? found.size.height };
  return size.width > 0 && size.height > 0 ? { media: found.media, size } : null;
}

function readSize(bytes: Uint8Array, type: ImageValue["type"]): KnownPicture["size"] {
  try {
    const { width, height, type: actual } = imageSize(bytes);
    return actual === (type === "image/png" ? "png" : "jpg") ? { width, height } : null;
  } catch {
    return null;
  }
}

/** Fits a picture into the box of its cells, in the middle; `down` is by how many rows the record stands below the template's. */
export function placePicture(
  media: string,
  size: { width: number; height: number },
  model: SheetModel,
  box: CellRange,
  down: number,
): PlacedPicture {
  let boxWidth = 0;
  for (let column = box.left; column <= box.right; column++)
    boxWidth += columnPixels(model, column);
  let boxHeight = 0;
  for (let row = box.top; row <= box.bottom; row++) boxHeight += rowPixels(model, row);
  const scale = Math.min(
    Math.max(1, boxWidth - 2 * MARGIN) / size.width,
    Math.max(1, boxHeight - 2 * MARGIN) / size.height,
  );
  const width = Math.max(1, Math.round(size.width * scale));
  const height = Math.max(1, Math.round(size.height * scale));
  // An offset must lie within its own cell: over several cells the picture may start in a later one.
  const [column, left] = cellAt(box.left, (boxWidth - width) / 2, (index) =>
    columnPixels(model, index),
  );
  const [row, top] = cellAt(box.top, (boxHeight - height) / 2, (index) => rowPixels(model, index));
  return { media, column: column - 1, row: row - 1 + down, left, top, width, height };
}

function cellAt(
  first: number,
  offset: number,
  sizeAt: (index: number) => number,
): [number, number] {
  let rest = Math.max(0, Math.floor(offset));
  let index = first;
  for (let size = sizeAt(index); size <= rest && size > 0; size = sizeAt(index)) {
    rest -= size;
    index++;
  }
  return [index, rest];
}

function columnPixels({ part }: SheetModel, column: number): number {
  const found = (child(part.root, "cols")?.children ?? []).find(
    (element) =>
      Number(attribute(part, element, "min")) <= column &&
      Number(attribute(part, element, "max")) >= column,
  );
  if (found && attribute(part, found, "hidden") === "1") return 0;
  const format = child(part.root, "sheetFormatPr");
  const width =
    (found && attribute(part, found, "width")) ??
    (format && attribute(part, format, "defaultColWidth")) ??
    DEFAULT_WIDTH;
  return Math.trunc(((256 * Number(width) + Math.trunc(128 / DIGIT)) / 256) * DIGIT);
}

function rowPixels({ part, rows }: SheetModel, row: number): number {
  const found = rows.find((candidate) => candidate.row === row);
  if (found && attribute(part, found.element, "hidden") === "1") return 0;
  const format = child(part.root, "sheetFormatPr");
  const points =
    (found && attribute(part, found.element, "ht")) ??
    (format && attribute(part, format, "defaultRowHeight")) ??
    DEFAULT_HEIGHT;
  return Math.round((Number(points) * 4) / 3);
}

/** The anchor of a picture in a drawing. */
export function pictureXml(picture: PlacedPicture, relation: string, id: number): string {
  const { column, row, left, top, width, height } = picture;
  const size = `cx="${width * EMU}" cy="${height * EMU}"`;
  return (
    `<xdr:oneCellAnchor xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
    `<xdr:from><xdr:col>${column}</xdr:col><xdr:colOff>${left * EMU}</xdr:colOff><xdr:row>${row}</xdr:row><xdr:rowOff>${top * EMU}</xdr:rowOff></xdr:from><xdr:ext ${size}/>` +
    `<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="${id}" name="Picture ${id}"/><xdr:cNvPicPr><a:picLocks noChangeAspect="1"/></xdr:cNvPicPr></xdr:nvPicPr>` +
    `<xdr:blipFill><a:blip r:embed="${relation}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>` +
    `<xdr:spPr><a:xfrm><a:off x="0" y="0"/><a:ext ${size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic><xdr:clientData/></xdr:oneCellAnchor>`
  );
}
