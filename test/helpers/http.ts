import { randomInt } from "node:crypto";
import { type OutgoingHttpHeaders, request } from "node:http";
import { createServer } from "node:net";

/** An answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The text as JSON; undefined when it is none. Read loosely, as by a client without types. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  json: any;
}

/** What to send; `headers` as a list of pairs may name one header twice. */
export interface RawRequest {
  method?: string;
  path?: string;
  headers?: OutgoingHttpHeaders | [string, string][];
  body?: string | Uint8Array;
}

/** Sends a request exactly as it is given, by POST to `/graphql` as JSON where nothing else is said. */
export function send(url: string, sent: RawRequest = {}): Promise<RawAnswer> {
  const { method = "POST", path = "/graphql", body } = sent;
  const headers = Array.isArray(sent.headers)
    ? sent.headers.flat()
    : { "content-type": "application/json", ...sent.headers };
  return new Promise((resolve, reject) => {
    // A list of headers is sent as it is, without those that Node would add.
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

/** How long `work` takes, in milliseconds, and what it gives. */
export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { ms: performance.now() - started, result };
}

/**
 * A port that nothing listens on, for a process that must know its address before it starts. It is below the ports that
 * systems give to outgoing connections, which could take it before the process does.
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
