import type { CustomFetch } from "openid-client";

const largestAnswerBytes = 1024 * 1024;

/** A provider's answer that goes on and on. */
export class AnswerTooLargeError extends Error {
  override name = "AnswerTooLargeError";
}

/**
 * `fetch` for a provider's documents: an answer above one MiB is cut off instead of read into memory. The caller's signal
 * bounds the time, the reading of the body included.
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options);
  if (!response.body) return response;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    size += chunk.length;
    if (size > largestAnswerBytes)
      throw new AnswerTooLargeError(`the answer is larger than ${largestAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return new Response(new Blob(chunks), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
};
