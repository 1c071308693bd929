import { Readable } from "node:stream";
import { setImmediate as afterEvents } from "node:timers/promises";

/** In UTF-16 units. */
const CHUNK = 64 * 1024;

/**
 * Combines small strings into large buffers, because each chunk passes all stages of the ZIP stream separately. Yields
 * to the event loop between buffers.
 */
export function toByteStream(pieces: Iterable<string> | AsyncIterable<string>): Readable {
  return Readable.from(
    (async function* () {
      let text = "";
      for await (const piece of pieces) {
        text += piece;
        if (text.length < CHUNK) continue;
        yield Buffer.from(text);
        text = "";
        await afterEvents();
      }
      yield Buffer.from(text);
    })(),
    { objectMode: false },
  );
}
