import { Agent, request } from "node:http";

/** A client with this many persistent connections; responses are not decoded. */
export function makeClient(url: string, connections: number, headers: Record<string, string> = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const target = new URL(url);
  const options = {
    agent,
    host: target.hostname,
    port: target.port,
    path: target.pathname,
    method: "POST",
  };
  const send = (body: string) =>
    new Promise<string>((resolve, reject) => {
      const sent = request(
        {
          ...options,
          headers: {
            "content-type": "application/json",
            accept: "application/json",
            "content-length": Buffer.byteLength(body),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            if (response.statusCode === 200) resolve(text);
            else reject(new Error(`${response.statusCode}: ${text.slice(0, 300)}`));
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  return { send, close: () => agent.destroy() };
}

/** The measurements of a round of requests. */
export interface Round {
  requestsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  requests: number;
}

/** Sends requests over all connections for this many milliseconds; `next` returns the body of the nth. */
export async function load(
  send: (body: string) => Promise<string>,
  next: (n: number) => string,
  connections: number,
  durationMs: number,
): Promise<Round> {
  const times: number[] = [];
  const started = performance.now();
  const until = started + durationMs;
  let n = 0;
  const one = async () => {
    for (;;) {
      const from = performance.now();
      if (from >= until) return;
      await send(next(n++));
      times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  const elapsed = performance.now() - started;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? NaN;
  return {
    requestsPerSecond: (times.length / elapsed) * 1000,
    p50: at(0.5),
    p99: at(0.99),
    requests: times.length,
  };
}
