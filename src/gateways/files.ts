import type { Readable } from "node:stream";
import type { Circuit } from "../health/externalSystems.ts";

/** A file that the store holds. */
export interface StoredFile {
  key: string;
  modifiedAt: Date;
}

/** What a link lets its holder have. */
export interface LinkOptions {
  /** Under which name a browser saves the file. */
  fileName: string;
  /** How long the link works. */
  seconds: number;
}

/** The store of files. Every method throws FileStoreError when the store does not do its part. */
export interface FileStore {
  /**
   * Writes a file piece by piece, holding a few pieces in memory at most; it is there as a whole or not at all. Returns its size
   * in bytes. The body is destroyed when the store fails.
   */
  write(key: string, body: Readable, signal: AbortSignal): Promise<number>;
  /** Reads a file whole. */
  read(key: string, signal?: AbortSignal): Promise<Buffer>;
  /** Removes a file and what was begun under its name and never finished; no error when there is neither. */
  remove(key: string): Promise<void>;
  /** Removes all below a prefix. */
  removeAll(prefix: string): Promise<void>;
  list(prefix: string): AsyncIterable<StoredFile>;
  /** An address from which anyone who has it can download the file for a while. */
  link(key: string, options: LinkOptions): Promise<string>;
  /** Resolves when the store answers; one whose bucket is not made yet does. */
  check(signal: AbortSignal): Promise<undefined>;
  /** Whether calls are let through at present: after several without an answer the store is left alone for a second. */
  circuit(): Circuit;
  close(): void;
}

/** The store cannot be reached, or refuses; the message is for people, the cause for the log. */
export class FileStoreError extends Error {
  override name = "FileStoreError";
}

export const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

const contentTypes: Readonly<Record<string, string>> = {
  xlsx: workbookType,
  csv: "text/csv; charset=utf-8",
  jsonl: "application/x-ndjson",
};

/** The media type of a file, by the end of its key. */
export function contentTypeOf(key: string): string {
  return contentTypes[/\.(\w+)$/.exec(key)?.[1] ?? ""] ?? "application/octet-stream";
}
