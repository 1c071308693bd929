import { imageSize } from "image-size";
import { TemplateError } from "../xlsx/template/problems.ts";
import { readPackage } from "../xlsx/template/readPackage.ts";

export const csvType = "text/csv";
export const xlsxType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const pictures: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
const accepted = "Pictures (PNG, JPEG, GIF, WebP), PDF, XLSX and CSV are taken";
// No model accepts larger pictures.
const maxEdge = 8_000;

/** The media type of a file, or as `problem` the reason why it is rejected. */
export type AttachmentType = { mediaType: string; problem?: undefined } | { problem: string };

/** Detects a file's type by its content. */
export async function readAttachmentType(bytes: Buffer, fileName: string): Promise<AttachmentType> {
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") return { mediaType: "application/pdf" };
  if (bytes.subarray(0, 4).toString("latin1") === "PK\u0003\u0004") return readWorkbook(bytes);
  const picture = readPicture(bytes);
  if (picture) return picture;
  if (/\.csv$/i.test(fileName) && decodeText(bytes) !== null) return { mediaType: csvType };
  return { problem: `${accepted}: the file is none of these` };
}

function readPicture(bytes: Buffer) {
  try {
    const { type, width, height } = imageSize(bytes);
    const mediaType = pictures[type ?? ""];
    if (mediaType === undefined) return { problem: `${accepted}: the picture is ${type ?? "not"}` };
    if (Math.max(width, height) > maxEdge)
      return { problem: `The picture is larger than ${maxEdge} pixels` };
    return { mediaType };
  } catch {
    return null;
  }
}

async function readWorkbook(bytes: Buffer) {
  try {
    const parts = await readPackage(bytes);
    return parts.has("xl/workbook.xml") && parts.has("[Content_Types].xml")
      ? { mediaType: xlsxType }
      : { problem: `${accepted}: the file is a ZIP archive and no workbook` };
  } catch (error) {
    if (error instanceof TemplateError) return { problem: error.message };
    throw error;
  }
}

/** Decodes a CSV file, in UTF-8 or in western Excel's encoding; null when it is not text. */
export function decodeText(bytes: Buffer): string | null {
  // eslint-disable-next-line no-control-regex -- the test for binary files
  const isText = (text: string) => !/[\u0000-\u0008\u000e-\u001f]/.test(text);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return isText(text) ? text : null;
  } catch {
    const text = new TextDecoder("windows-1252").decode(bytes);
    return isText(text) ? text : null;
  }
}
