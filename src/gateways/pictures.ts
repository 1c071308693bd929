import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { AgentOptions } from "node:https";
import { RequestFilteringHttpsAgent } from "request-filtering-agent";
import type { ExportsConfig } from "../settings/exports.ts";
import { isPrivateAddress, publicLookup } from "./privateAddresses.ts";

/** A downloaded picture. */
export interface Picture {
  bytes: Buffer;
  type: "image/png" | "image/jpeg";
}

/** Why a picture is missing. The message is for users and contains no URL. */
export class PictureError extends Error {
  override name = "PictureError";
}

export interface Pictures {
  /**
   * Downloads a picture.
   * @throws PictureError
   */
  fetch(address: string, signal: AbortSignal): Promise<Picture>;
}

const maxRedirects = 3;

/**
 * Downloads pictures from URLs written by users or the ERP: over https only, limited in size and time. Allows public
 * addresses, checked after name resolution, or else only the listed hosts. The type is determined by the first bytes.
 * `connection`: additional certificates or another resolver.
 */
export function makePictures(
  { hosts, bytes, timeoutMs }: ExportsConfig["images"],
  connection: Pick<AgentOptions, "ca" | "lookup"> = {},
): Pictures {
  // Listed hosts are trusted, in private networks too.
  const agent =
    hosts.length > 0
      ? new Agent(connection)
      : new RequestFilteringHttpsAgent({ ...connection, lookup: publicLookup(connection.lookup) });

  async function open(address: string, signal: AbortSignal): Promise<IncomingMessage> {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
      throw new PictureError("its URL is not a plain https URL");
    if (hosts.length > 0 && !hosts.includes(url.host) && !hosts.includes(url.hostname))
      throw new PictureError("pictures from its host are not allowed");
    if (hosts.length === 0 && isPrivateAddress(url.hostname))
      throw new PictureError("its host cannot be reached");
    const outgoing = request(url, {
      agent,
      signal,
      headers: { accept: "image/png, image/jpeg", "accept-encoding": "identity" },
    });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    return response;
  }

  async function follow(address: string, signal: AbortSignal): Promise<Buffer> {
    let at = address;
    for (let hops = 0; hops <= maxRedirects; hops++) {
      const response = await open(at, signal);
      const { statusCode = 0, headers } = response;
      if (statusCode === 200) return readBounded(response);
      response.destroy();
      if (statusCode < 300 || statusCode > 399 || headers.location === undefined)
        throw new PictureError(`its host answers ${statusCode}`);
      at = URL.canParse(headers.location, at) ? new URL(headers.location, at).href : "";
    }
    throw new PictureError("its URL redirects too often");
  }

  async function readBounded(response: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytes) throw new PictureError(`it is larger than ${bytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  return {
    async fetch(address, signal) {
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const content = await follow(address, AbortSignal.any([signal, late]));
        return { bytes: content, type: typeOf(content) };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof PictureError) throw error;
        throw new PictureError(
          late.aborted ? "it took too long to download" : "its host cannot be reached",
          { cause: error },
        );
      }
    },
  };
}

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const jpeg = Buffer.from([0xff, 0xd8, 0xff]);

function typeOf(content: Buffer): Picture["type"] {
  if (content.subarray(0, png.length).equals(png)) return "image/png";
  if (content.subarray(0, jpeg.length).equals(jpeg)) return "image/jpeg";
  throw new PictureError("it is neither PNG nor JPEG");
}
