import { Writable } from "node:stream";

/** A stream that stores its input. */
export function collect(): { output: Writable; bytes: () => Buffer } {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { output, bytes: () => Buffer.concat(chunks) };
}

/** Yields the items one by one, like a cursor. */
export async function* streamOf<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

export const never = (): AbortSignal => new AbortController().signal;
