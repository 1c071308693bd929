import { ModelError } from "./model.ts";

/** A model may write 8,000 tokens for an answer; even one frame for each character of them is smaller. */
const maxResponseBytes = 32 * 1024 * 1024;
/** The library collects a line until it ends. */
const maxLineBytes = 1024 * 1024;

const lineFeed = 10;
const carriageReturn = 13;

/** The response, whose body fails with a ModelError above 32 MiB, or where a line is longer than 1 MiB. */
export function boundModelResponse(response: Response): Response {
  if (!response.body) return response;
  let size = 0;
  let lineBytes = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        size += chunk.length;
        const end = Math.max(chunk.lastIndexOf(lineFeed), chunk.lastIndexOf(carriageReturn));
        lineBytes = end < 0 ? lineBytes + chunk.length : chunk.length - end - 1;
        if (size > maxResponseBytes || lineBytes > maxLineBytes) throw new ModelError("nonsense");
        controller.enqueue(chunk);
      },
    }),
  );
  return new Response(bounded, response);
}
