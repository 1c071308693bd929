import type { CustomFetch } from "openid-client";

const maxResponseBytes = 1024 * 1024;

/** A response exceeded the size limit. */
export class ResponseTooLargeError extends Error {
  override name = "ResponseTooLargeError";
}

/**
 * `fetch` for an identity provider's documents, which rejects responses above 1 MiB. The caller's signal bounds the
 * time, including the body.
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options);
  if (!response.body) return response;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    size += chunk.length;
    if (size > maxResponseBytes)
      throw new ResponseTooLargeError(`the response is larger than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return new Response(new Blob(chunks), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
};
