import { createHash } from "node:crypto";
import { imageSize } from "image-size";
import { SHEET_LIMITS } from "../limits.ts";
import type { ImageValue } from "../values.ts";
import type { CellRange } from "./a1.ts";
import type { SheetModel } from "./sheetModel.ts";
import { attribute, child } from "./xmlTree.ts";

/** EMU (the unit of drawings) per pixel. */
const EMU = 9_525;
/** The margin around a picture in its cell, in pixels. */
const MARGIN = 2;
/** The width of a digit in the standard font, in pixels. */
const DIGIT = 7;
const DEFAULT_WIDTH = 8.43;
const DEFAULT_HEIGHT = 15;

/** A picture above a cell, with its aspect ratio preserved. */
export interface PlacedPicture {
  /** The name of the media part. */
  readonly media: string;
  /** From 0; offsets in pixels from the cell's corner. */
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
/** Many records often share the same bytes. */
const known = new WeakMap<Uint8Array, KnownPicture>();

/**
 * Returns the media part name of a picture, the same for equal bytes, and its size in pixels; null for invalid bytes.
 */
export function registerPicture({ bytes, type, width, height }: ImageValue): {
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

/** The largest box that a picture is fitted into, in rows and columns. */
const MAX_BOX_SIZE = 1_000;

/** Centres a picture in its cells; `down` is the record's distance from the template's row, in rows. */
export function placePicture(
  media: string,
  size: { width: number; height: number },
  model: SheetModel,
  box: CellRange,
  down: number,
): PlacedPicture {
  const { columnPixels, rowPixels } = layoutOf(model);
  const right = Math.min(box.right, box.left + MAX_BOX_SIZE - 1);
  const bottom = Math.min(box.bottom, box.top + MAX_BOX_SIZE - 1);
  let boxWidth = 0;
  for (let column = box.left; column <= right; column++) boxWidth += columnPixels(column);
  let boxHeight = 0;
  for (let row = box.top; row <= bottom; row++) boxHeight += rowPixels(row);
  const scale = Math.min(
    Math.max(1, boxWidth - 2 * MARGIN) / size.width,
    Math.max(1, boxHeight - 2 * MARGIN) / size.height,
  );
  const width = Math.max(1, Math.round(size.width * scale));
  const height = Math.max(1, Math.round(size.height * scale));
  // An offset must be within its own cell, so in a box of several cells the picture may start in a later one.
  const [column, left] = cellAt(box.left, (boxWidth - width) / 2, columnPixels);
  const [row, top] = cellAt(box.top, (boxHeight - height) / 2, rowPixels);
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

/** The sizes of a sheet's columns and rows, in pixels. */
interface Layout {
  readonly columnPixels: (column: number) => number;
  readonly rowPixels: (row: number) => number;
}

/** Cached, because each picture needs them. */
const layouts = new WeakMap<SheetModel, Layout>();

function layoutOf(model: SheetModel): Layout {
  let layout = layouts.get(model);
  if (!layout) {
    layout = readLayout(model);
    layouts.set(model, layout);
  }
  return layout;
}

function readLayout({ part, rows }: SheetModel): Layout {
  const format = child(part.root, "sheetFormatPr");
  const standard = (name: string) => (format ? attribute(part, format, name) : undefined);
  const pixelsOfWidth = (width: string | number) =>
    Math.trunc(((256 * Number(width) + Math.trunc(128 / DIGIT)) / 256) * DIGIT);
  const pixelsOfHeight = (points: string | number) => Math.round((Number(points) * 4) / 3);

  const defaultWidth = standard("defaultColWidth") ?? DEFAULT_WIDTH;
  const widths = new Float64Array(SHEET_LIMITS.columns + 1).fill(pixelsOfWidth(defaultWidth));
  // The first of several definitions of a column applies.
  for (const element of (child(part.root, "cols")?.children ?? []).toReversed()) {
    const value = (name: string) => attribute(part, element, name);
    const pixels = value("hidden") === "1" ? 0 : pixelsOfWidth(value("width") ?? defaultWidth);
    widths.fill(pixels, Number(value("min")), Number(value("max")) + 1);
  }

  const defaultHeight = standard("defaultRowHeight") ?? DEFAULT_HEIGHT;
  const standardPixels = pixelsOfHeight(defaultHeight);
  const heights = new Map(
    rows.toReversed().map(({ row, element }) => {
      const hidden = attribute(part, element, "hidden") === "1";
      const points = attribute(part, element, "ht") ?? defaultHeight;
      return [row, hidden ? 0 : pixelsOfHeight(points)];
    }),
  );
  return {
    columnPixels: (column) => widths[column] ?? 0,
    rowPixels: (row) => heights.get(row) ?? standardPixels,
  };
}

/** The anchor element of a picture in a drawing. */
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
