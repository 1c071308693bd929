import type { UIMessageChunk } from "ai";

type Delta = Extract<UIMessageChunk, { type: "text-delta" }>;

/**
 * Escapes Markdown pictures in an answer. A front end would load them without a click, and their address could carry data that the
 * user may see to a stranger.
 */
export async function* withoutPictures(
  chunks: AsyncIterable<UIMessageChunk>,
): AsyncGenerator<UIMessageChunk> {
  // A mark at the end of one piece may begin a picture in the next.
  let held = null as Delta | null;
  for await (const chunk of chunks) {
    if (chunk.type !== "text-delta" || (held && held.id !== chunk.id)) {
      if (held) yield held;
      held = null;
    }
    if (chunk.type !== "text-delta") {
      yield chunk;
      continue;
    }
    const text: string = ((held?.delta ?? "") + chunk.delta).replaceAll("![", "!\\[");
    const isOpen = text.endsWith("!");
    const delta = isOpen ? text.slice(0, -1) : text;
    held = isOpen ? { ...chunk, delta: "!" } : null;
    if (delta !== "") yield { ...chunk, delta };
  }
  if (held) yield held;
}
