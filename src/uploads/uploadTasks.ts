import { constants, setPriority } from "node:os";
import { csvText, workbookText } from "../assistant/attachmentText.ts";
import type { AttachmentType } from "../assistant/attachmentType.ts";
import { csvType, readAttachmentType } from "../assistant/attachmentType.ts";
import type { TemplateCheck } from "../xlsx/template/checkTemplate.ts";
import { checkTemplate } from "../xlsx/template/checkTemplate.ts";
import type { TemplateKind } from "../xlsx/template/plan.ts";
import type { FieldKind } from "../xlsx/values.ts";

// The tasks of the upload threads, see uploadReader.ts. Buffers arrive as plain arrays of bytes.

// On Linux this sets the priority of the calling thread only: requests come before uploads.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

/**
 * Checks an uploaded workbook as a template for exports. `fields` are all fields except prices of products, whose names
 * follow a pattern.
 */
export function checkWorkbook({
  bytes,
  fields,
  hasPrices,
  kind,
}: {
  bytes: Uint8Array;
  fields: readonly (readonly [string, FieldKind])[];
  hasPrices: boolean;
  kind: TemplateKind;
}): Promise<TemplateCheck> {
  const known = hasPrices ? new FieldsAndPrices(fields) : new Map(fields);
  return checkTemplate(bufferOf(bytes), known, kind);
}

/** Detects the type of an attachment. */
export function findAttachmentType({
  bytes,
  fileName,
}: {
  bytes: Uint8Array;
  fileName: string;
}): Promise<AttachmentType> {
  return readAttachmentType(bufferOf(bytes), fileName);
}

/** Reads a workbook or a CSV file as text, up to a number of characters. */
export async function readAttachmentText({
  bytes,
  mediaType,
  characters,
}: {
  bytes: Uint8Array;
  mediaType: string;
  characters: number;
}): Promise<string> {
  const read = mediaType === csvType ? csvText : workbookText;
  return read(bufferOf(bytes), characters);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The fields of products, with prices of any type and currency. */
class FieldsAndPrices extends Map<string, FieldKind> {
  override get(field: string): FieldKind | undefined {
    return super.get(field) ?? (isPrice(field) ? "decimal" : undefined);
  }

  override has(field: string): boolean {
    return super.has(field) || isPrice(field);
  }
}

function isPrice(field: string): boolean {
  return /^prices\.[a-z][a-z0-9_]{0,39}\.[A-Z]{3}$/.test(field);
}
