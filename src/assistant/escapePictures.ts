import type { UIMessageChunk } from "ai";

/** Escapes Markdown pictures in an answer. A browser would load them without a click, and their URL could leak data. */
export async function* escapePictures(
  chunks: AsyncIterable<UIMessageChunk>,
): AsyncGenerator<UIMessageChunk> {
  // Ids of texts that end in `!`, which may start a picture in the next chunk, also after chunks of other parts.
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
