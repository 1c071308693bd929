import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import cors from "cors";
import helmet, { type HelmetOptions } from "helmet";
import type { NodeHandler } from "./nodeHandler.ts";

/** Sets Helmet's security headers. They are equal for all responses and computed once. */
export function securityHeaders(options: HelmetOptions): NodeHandler {
  const request = new IncomingMessage(new Socket());
  const example = new ServerResponse(request);
  helmet(options)(request, example, () => undefined);
  const headers = new Map(
    Object.entries(example.getHeaders()).map(([name, value]) => [name, String(value)]),
  );
  return (_request, response, next) => {
    response.setHeaders(headers);
    next();
  };
}

/** Allows pages of these origins to read responses (CORS). Only browsers send an Origin. */
export function crossOrigin(origins: string[]): NodeHandler {
  const tell = cors({
    origin: origins,
    exposedHeaders: [
      "X-Correlation-Id",
      "Retry-After",
      "RateLimit",
      "RateLimit-Policy",
      "Idempotent-Replayed",
      "WWW-Authenticate",
    ],
    maxAge: 600,
  });
  return (request, response, next) => {
    if (request.headers.origin === undefined) {
      // Caches must not serve this response to a request with an Origin.
      response.setHeader("Vary", "Origin");
      next();
    } else tell(request, response, next);
  };
}
