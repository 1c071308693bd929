import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { type Health, healthHtml, healthOf } from "./healthPage.ts";
import type { ExternalSystems } from "../health/externalSystems.ts";
import { OperatorError } from "../text/OperatorError.ts";

interface OperationsServerOptions {
  process: Health["process"];
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** The setting that names the port, for messages. */
  setting: string;
  /** Whether to take a free port when the port is in use; otherwise the process ends. */
  mayMove: boolean;
  registry: Registry;
  systems: ExternalSystems;
  log: Logger;
}

/** The operators' port. It is separate from the users' port and answers while that one is busy. */
export interface OperationsServer {
  url: string;
  stop(): Promise<void>;
}

/**
 * Serves `/metrics` for Prometheus, `/health` (the external systems, as JSON or HTML) and `/healthz` (the process is
 * alive).
 * @throws the system's error when it cannot listen
 */
export async function startOperationsServer(
  options: OperationsServerOptions,
): Promise<OperationsServer> {
  const { host, port, setting, mayMove, log } = options;
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      log.error({ err: error, path: request.url }, "operations request failed");
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  const listen = async (at: number) => {
    server.listen(at, host);
    await once(server, "listening");
  };
  await listen(port).catch(async (error: unknown) => {
    const inUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!inUse) throw error;
    if (!mayMove)
      throw new OperatorError(
        `${setting} ${port} is in use by another program: set another one, or off`,
        { cause: error },
      );
    await listen(0);
  });
  // This port alone does not keep the process alive.
  server.unref();
  const address = server.address();
  const taken = typeof address === "object" && address ? address.port : port;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
  log.info({ metrics: `${url}/metrics`, health: `${url}/health` }, "operations port ready");
  return {
    url,
    async stop() {
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

async function answer(
  { process, registry, systems }: OperationsServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  response.setHeader("Cache-Control", "no-store");
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  switch (pathname) {
    case "/metrics":
      response.setHeader("Content-Type", registry.contentType).end(await registry.metrics());
      return;
    case "/health": {
      const health = healthOf(process, await systems.check());
      response.statusCode = health.status === "down" ? 503 : 200;
      if (request.headers.accept?.includes("text/html"))
        response.setHeader("Content-Type", "text/html; charset=utf-8").end(healthHtml(health));
      else response.setHeader("Content-Type", "application/json").end(JSON.stringify(health));
      return;
    }
    case "/healthz":
      response.setHeader("Content-Type", "application/json").end('{"status":"ok"}');
      return;
    default:
      response.writeHead(404).end();
  }
}
