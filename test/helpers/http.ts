import { randomInt } from "node:crypto";
import { type OutgoingHttpHeaders, request } from "node:http";
import { createServer } from "node:net";

/** A raw HTTP response. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The parsed text, untyped; undefined if it is not JSON. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  json: any;
}

/** A request; `headers` as a list of pairs can repeat a header. */
export interface RawRequest {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders | [string, string][];
  body?: string | Uint8Array;
}

/** Sends a request without changes. The default is a POST of JSON to `/graphql`. */
export function send(url: string, sent: RawRequest = {}): Promise<RawAnswer> {
  const { method = "POST", path = "/graphql", body } = sent;
  const headers = Array.isArray(sent.headers)
    ? sent.headers.flat()
    : { "content-type": "application/json", ...sent.headers };
  return new Promise((resolve, reject) => {
    // A list of headers is sent without Node's default headers.
    const whole = Array.isArray(headers) ? [...headers, "host", new URL(url).host] : headers;
    if (body !== undefined && Array.isArray(whole))
      whole.push("content-length", String(Buffer.byteLength(body)));
    const outgoing = request(
      new URL(path, url),
      { method, headers: whole, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: parse(text),
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Runs `work`; returns its duration in milliseconds and its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { ms: performance.now() - started, result };
}

/**
 * Returns a free port for a process that must know its URL before it starts.
 * It is below the ephemeral ports, from which an outgoing connection could take it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
