import type { Readable } from "node:stream";
import type { Circuit } from "../health/externalSystems.ts";

/** A file in the object store. */
export interface StoredFile {
  key: string;
  modifiedAt: Date;
}

/** Options of a download link. */
export interface LinkOptions {
  /** The name under which a browser saves the file. */
  fileName: string;
  /** The link's lifetime. */
  seconds: number;
}

/** The object store. Every method throws FileStoreError when the store fails. */
export interface FileStore {
  /**
   * Uploads a file in parts, with at most a few in memory; the file appears completely or not at all. Returns its size
   * in bytes. Destroys the body when the store fails.
   */
  write(key: string, body: Readable, signal: AbortSignal): Promise<number>;
  /** Reads a whole file. */
  read(key: string, signal?: AbortSignal): Promise<Buffer>;
  /** Deletes a file and its unfinished uploads; no error when there are none. */
  remove(key: string): Promise<void>;
  /** Deletes all files below a prefix. */
  removeAll(prefix: string): Promise<void>;
  list(prefix: string): AsyncIterable<StoredFile>;
  /** Returns a URL that allows anyone to download the file for a limited time. */
  link(key: string, options: LinkOptions): Promise<string>;
  /** Resolves when the store responds, even when the bucket does not exist yet. */
  check(signal: AbortSignal): Promise<undefined>;
  /** The state of the circuit breaker, which opens for a second after several requests without a response. */
  circuit(): Circuit;
  close(): void;
}

/** The store is unreachable or rejected a request. The message is for users, the cause for the log. */
export class FileStoreError extends Error {
  override name = "FileStoreError";
}

export const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

const contentTypes: Readonly<Record<string, string>> = {
  xlsx: workbookType,
  csv: "text/csv; charset=utf-8",
  jsonl: "application/x-ndjson",
};

/** The media type of a file, by the extension of its key. */
export function contentTypeOf(key: string): string {
  return contentTypes[/\.(\w+)$/.exec(key)?.[1] ?? ""] ?? "application/octet-stream";
}
