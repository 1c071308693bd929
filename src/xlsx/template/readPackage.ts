import { readFile, stat } from "node:fs/promises";
import type { Entry } from "yauzl";
import { fromBufferPromise } from "yauzl";
import { fileProblem } from "./problems.ts";

/** The limits of an uploaded workbook, sizes in bytes. */
const PACKAGE_LIMITS = {
  file: 10 * 2 ** 20,
  unpacked: 64 * 2 ** 20,
  parts: 2_000,
  /** The maximum compression ratio of parts larger than `ratioFrom`. */
  ratio: 250,
  ratioFrom: 2 ** 20,
} as const;

/** The unpacked parts of a workbook by name. */
export type PackageParts = Map<string, Buffer>;

const ZIP = Buffer.from("PK\u0003\u0004", "latin1");
const COMPOUND = Buffer.from("d0cf11e0a1b11ae1", "hex");
const ENCRYPTED = Buffer.from("EncryptedPackage", "utf16le");

/**
 * Unpacks a workbook within limits that are checked before anything is inflated.
 * @throws TemplateError for anything but a plain ZIP package within the limits
 */
export async function readPackage(file: Buffer | string): Promise<PackageParts> {
  const bytes = await bytesOf(file);
  refuseOtherFormats(bytes);
  try {
    // The library rejects names outside the package and sizes that differ from the announced ones.
    const zip = await fromBufferPromise(bytes, { strictFileNames: true, validateEntrySizes: true });
    if (zip.entryCount > PACKAGE_LIMITS.parts)
      throw fileProblem(
        `The file has ${zip.entryCount} parts; at most ${PACKAGE_LIMITS.parts} are allowed`,
      );
    const entries: Entry[] = [];
    for await (const entry of zip.eachEntry())
      if (!entry.fileName.endsWith("/")) entries.push(entry);
    refuseEntries(entries, bytes.length);
    const parts: PackageParts = new Map();
    for (const entry of entries) {
      const chunks: Buffer[] = [];
      for await (const chunk of await zip.openReadStreamPromise(entry))
        chunks.push(chunk as Buffer);
      parts.set(entry.fileName, Buffer.concat(chunks));
    }
    return parts;
  } catch (error) {
    if (error instanceof Error && error.name === "TemplateError") throw error;
    throw fileProblem(
      `The file cannot be unpacked: ${error instanceof Error ? error.message : "it is damaged"}`,
    );
  }
}

async function bytesOf(file: Buffer | string): Promise<Buffer> {
  const size = typeof file === "string" ? (await stat(file)).size : file.length;
  if (size > PACKAGE_LIMITS.file)
    throw fileProblem(`The file has ${size} bytes; at most ${PACKAGE_LIMITS.file} are allowed`);
  return typeof file === "string" ? readFile(file) : file;
}

function refuseOtherFormats(bytes: Buffer): void {
  if (bytes.subarray(0, COMPOUND.length).equals(COMPOUND))
    throw fileProblem(
      bytes.includes(ENCRYPTED)
        ? "The workbook is encrypted: save it without a password"
        : "This is an old .xls workbook: save it as .xlsx",
    );
  if (!bytes.subarray(0, ZIP.length).equals(ZIP))
    throw fileProblem("This is not a workbook: save it as .xlsx");
}

function refuseEntries(entries: readonly Entry[], fileSize: number): void {
  const seen = new Set<string>();
  let unpacked = 0;
  let packed = 0;
  for (const entry of entries) {
    const { fileName, uncompressedSize, compressedSize } = entry;
    const name = fileName.toLowerCase();
    if (seen.has(name)) throw fileProblem(`The file has two parts named ${fileName}`);
    seen.add(name);
    if (entry.isEncrypted())
      throw fileProblem("The workbook is encrypted: save it without a password");
    unpacked += uncompressedSize;
    packed += compressedSize;
    if (
      uncompressedSize > PACKAGE_LIMITS.ratioFrom &&
      uncompressedSize > compressedSize * PACKAGE_LIMITS.ratio
    )
      throw fileProblem(
        `The part ${fileName} grows more than ${PACKAGE_LIMITS.ratio} times when unpacked`,
      );
  }
  if (unpacked > PACKAGE_LIMITS.unpacked)
    throw fileProblem(
      `The workbook has ${unpacked} bytes unpacked; at most ${PACKAGE_LIMITS.unpacked} are allowed`,
    );
  // Overlapping parts let a small file unpack to a huge one (a ZIP bomb).
  if (packed > fileSize) throw fileProblem("The parts of the file overlap");
}
