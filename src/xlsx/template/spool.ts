import type { FileHandle } from "node:fs/promises";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Buffers XML in a file. Formulas in repeated rows may refer to rows below, whose position is known only after the last
 * record.
 */
export interface Spool {
  write(xml: string): Promise<void>;
  /** Reads everything written, with the markers replaced by row numbers moved by `delta`. */
  read(delta: number): AsyncGenerator<string, void, undefined>;
  close(): Promise<void>;
}

const CHUNK = 64 * 1024;
// Control characters as markers, because XML cannot contain them.
const START = "\u0003";
const END = "\u0004";
// eslint-disable-next-line no-control-regex -- the markers are control characters
const MARKS = /\u0003(\d+)\u0004/g;

/** Marks a row number that is moved when the distance is known. */
export function markRow(row: number): string {
  return `${START}${row}${END}`;
}

/** Opens a spool on an unlinked file, so that nothing remains when the process ends. */
export async function openSpool(): Promise<Spool> {
  const folder = await mkdtemp(join(tmpdir(), "workbook-"));
  let file: FileHandle;
  try {
    file = await open(join(folder, "rows"), "wx+", 0o600);
  } finally {
    // The open file stays readable and writable.
    await rm(folder, { recursive: true, force: true });
  }
  let pending = "";
  const flush = async () => {
    const bytes = Buffer.from(pending);
    pending = "";
    await file.appendFile(bytes);
  };
  return {
    write: async (xml) => {
      pending += xml;
      if (pending.length >= CHUNK) await flush();
    },
    read: async function* (delta) {
      await flush();
      const decoder = new TextDecoder();
      const buffer = Buffer.allocUnsafe(CHUNK);
      let rest = "";
      for (let at = 0; ;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK, at);
        if (bytesRead === 0) break;
        at += bytesRead;
        const text = rest + decoder.decode(buffer.subarray(0, bytesRead), { stream: true });
        // A marker may be split between two chunks.
        const start = text.lastIndexOf(START);
        const whole = start === -1 || text.indexOf(END, start) !== -1 ? text.length : start;
        rest = text.slice(whole);
        yield moved(text.slice(0, whole), delta);
      }
      yield moved(rest + decoder.decode(), delta);
    },
    close: () => file.close(),
  };
}

function moved(text: string, delta: number): string {
  return text.includes(START)
    ? text.replace(MARKS, (_whole, row) => String(Number(row) + delta))
    : text;
}
