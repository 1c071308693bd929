import type { Readable, Writable } from "node:stream";
import { PassThrough } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import yazl from "yazl";

/** A package being written. Each call resolves when the part has been passed to the output (backpressure). */
export interface ZipParts {
  /** `level` is zlib's; 0 stores the part uncompressed. */
  addStream(name: string, stream: Readable, level?: number): Promise<void>;
  addText(name: string, text: string): void;
  addBytes(name: string, bytes: Buffer, level?: number): void;
}

/** As fast as level 1 with output a seventh smaller; the default level 6 takes twice the time for another fifth. */
const FAST = 2;
const USUAL = 6;

/**
 * Streams a package into `output` and ends it; `produce` adds the parts. On errors and abort, destroys the output and
 * the current part and rejects at once, on abort with the signal's reason.
 */
export async function writeZip<T>(
  output: Writable,
  signal: AbortSignal,
  produce: (parts: ZipParts) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const zip = new yazl.ZipFile();
  const bytes = new PassThrough({ highWaterMark: 256 * 1024 });
  // Passes errors of the package to the pipeline.
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
