import type { Readable, Writable } from "node:stream";
import { PassThrough } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import yazl from "yazl";

/** The package being written. Each call resolves when the part has left for the output, so that nothing piles up. */
export interface ZipParts {
  /** `level` is zlib's; 0 stores the part as it is. */
  addStream(name: string, stream: Readable, level?: number): Promise<void>;
  addText(name: string, text: string): void;
  addBytes(name: string, bytes: Buffer, level?: number): void;
}

/** As quick as level 1 and a seventh smaller; the usual level 6 makes a sheet a fifth smaller still, for twice the time. */
const FAST = 2;
const USUAL = 6;

/**
 * Streams a package into `output` and ends it; `produce` adds the parts. When anything fails, or the signal is aborted, the output
 * and the part under way are destroyed and the promise rejects at once: with the signal's reason, if it was that.
 */
export async function writeZip<T>(
  output: Writable,
  signal: AbortSignal,
  produce: (parts: ZipParts) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const zip = new yazl.ZipFile();
  const bytes = new PassThrough({ highWaterMark: 256 * 1024 });
  // An error of the package's own reaches the pipeline as one of its source.
  zip.on("error", (error) => bytes.destroy(error instanceof Error ? error : new Error("zip")));
  zip.outputStream.pipe(bytes);
  let current: Readable | undefined;
  const made = produce({
    addStream: async (name, stream, level = FAST) => {
      current = stream;
      zip.addReadStream(stream, name, { compressionLevel: level });
      await finished(stream);
    },
    addText: (name, text) => zip.addBuffer(Buffer.from(text), name, { compressionLevel: USUAL }),
    addBytes: (name, buffer, level = USUAL) =>
      zip.addBuffer(buffer, name, { compressionLevel: level }),
  }).then((result) => {
    zip.end();
    return result;
  });
  try {
    const [result] = await Promise.all([made, pipeline(bytes, output, { signal })]);
    return result;
  } catch (error) {
    const cause = error instanceof Error ? error : new Error("Not written", { cause: error });
    current?.destroy(cause);
    bytes.destroy(cause);
    output.destroy(cause);
    signal.throwIfAborted();
    throw error;
  }
}
