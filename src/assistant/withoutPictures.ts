import type { UIMessageChunk } from "ai";

/**
 * Escapes Markdown pictures in an answer. A front end would load them without a click, and their address could carry data that the
 * user may see to a stranger.
 */
export async function* withoutPictures(
  chunks: AsyncIterable<UIMessageChunk>,
): AsyncGenerator<UIMessageChunk> {
  // The texts that end in a mark, which may begin a picture in their next piece, also when other parts come between.
  const open = new Set<string>();
  for await (const chunk of chunks) {
    if (chunk.type === "text-start" || chunk.type === "text-end") open.delete(chunk.id);
    if (chunk.type !== "text-delta" || chunk.delta === "") {
      yield chunk;
      continue;
    }
    const isContinued = open.has(chunk.id) && chunk.delta.startsWith("[");
    if (chunk.delta.endsWith("!")) open.add(chunk.id);
    else open.delete(chunk.id);
    yield { ...chunk, delta: (isContinued ? "\\" : "") + chunk.delta.replaceAll("![", "!\\[") };
  }
}
