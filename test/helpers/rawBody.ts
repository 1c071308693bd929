import { request } from "node:http";

/** An undecoded HTTP response. */
export interface RawBody {
  status: number;
  encoding: string | undefined;
  vary: string;
  body: Buffer;
}

/** Sends a request with an unmodified path and does not decode the response. */
export function rawBody(
  url: string,
  options: { method?: string; path: string; headers?: Record<string, string>; body?: string },
): Promise<RawBody> {
  const { hostname, port } = new URL(url);
  const { method = "GET", path, headers = {} } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { hostname, port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          resolve({
            status: response.statusCode ?? 0,
            encoding: response.headers["content-encoding"],
            vary: response.headers.vary ?? "",
            body: Buffer.concat(chunks),
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(options.body);
  });
}
