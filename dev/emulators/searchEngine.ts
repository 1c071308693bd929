import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { Engine } from "./typesense/engine.ts";
import type { Answer } from "./typesense/exchange.ts";
import { Keys } from "./typesense/keys.ts";
import { EngineProblem } from "./typesense/problem.ts";
import { makeRouter } from "./typesense/routes.ts";

export interface SearchEngineOptions {
  /** 0 chooses a free port. */
  port: number;
  /** The admin key. */
  apiKey: string;
  /** The folder for its data. */
  dataDir: string;
  /** The version that `/debug` names; by default the emulated version. */
  version?: string;
}

/** The emulated version of Typesense. */
export const emulatedVersion = "29.0";

/** Emulates the part of Typesense's API that the service and its front end use. */
export interface SearchEngine {
  port: number;
  url: string;
  stop(): Promise<void>;
}

const host = "127.0.0.1";
const maxBodyBytes = 256 * 1024 * 1024;
/** Maximum length of the query string of a `GET` search. A longer search needs `multi_search`. */
const maxQueryLength = 4_000;

/** @throws when the port is taken or the folder cannot be used */
export async function startSearchEngine(options: SearchEngineOptions): Promise<SearchEngine> {
  const engine = await Engine.open(options.dataDir);
  const keys = new Keys(options.apiKey, engine.store);
  const router = makeRouter(engine, keys, options.version ?? emulatedVersion);
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    if (request.method === "OPTIONS") return allowOrigin(request, response);
    respond(router, request, response).catch((error: unknown) => refuse(response, error));
  });
  const listening = once(server, "listening");
  server.listen(options.port, host);
  try {
    await listening;
  } catch (error) {
    engine.store.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${host}:${port}`,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      engine.store.close();
    },
  };
}

/** Allows every origin: the key restricts the access. */
function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const wanted = request.headers["access-control-request-headers"];
  response.writeHead(200, {
    "access-control-allow-methods": "POST, GET, DELETE, PUT, PATCH, OPTIONS",
    "access-control-allow-headers": wanted ?? "*",
    "access-control-max-age": "86400",
  });
  response.end();
}

async function respond(
  router: ReturnType<typeof makeRouter>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = "/", ...search] = (request.url ?? "/").split("?");
  const text = search.join("?");
  if (request.method === "GET" && path.endsWith("/search") && text.length > maxQueryLength)
    throw new EngineProblem(
      400,
      `Query string exceeds max allowed length of ${maxQueryLength}. Use the /multi_search end-point for larger payloads.`,
    );
  const { "x-typesense-api-key": keyInUrl, ...query } = Object.fromEntries(
    new URLSearchParams(text),
  );
  const header = request.headers["x-typesense-api-key"];
  const key = typeof header === "string" ? header : (keyInUrl ?? "");
  const body = await readBody(request);
  const method = request.method ?? "GET";
  await send(response, await router({ method, query, key, body }, path));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) throw new EngineProblem(413, "The request body is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function send(response: ServerResponse, { status, body }: Answer): Promise<void> {
  const pieces = typeof body === "string" ? [body] : isPieces(body) ? body : null;
  if (pieces === null) {
    sendJson(response, status, body);
    return;
  }
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  await pipeline(pieces, response);
}

function isPieces(body: unknown): body is AsyncIterable<string> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const status = error instanceof EngineProblem ? error.status : 500;
  const message = error instanceof Error ? error.message : String(error);
  sendJson(response, status, { message });
}
