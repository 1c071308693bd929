import { Readable } from "node:stream";
import { setImmediate as afterEvents } from "node:timers/promises";

/** In UTF-16 units. */
const CHUNK = 64 * 1024;

/** Gathers small pieces, each of which would otherwise go through all stages of the package by itself; others get a turn between. */
export function inBytes(pieces: Iterable<string> | AsyncIterable<string>): Readable {
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
