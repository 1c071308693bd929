import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import cors from "cors";
import helmet, { type HelmetOptions } from "helmet";
import type { NodeHandler } from "./nodeHandler.ts";

/** Sets the headers by which browsers handle an answer with care. They are the same for all: the library is asked once. */
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

/** Lets the pages of the origins read answers. Only browsers name an origin, and only they need to be told. */
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
      // Also where it makes no difference: what is kept of it may be shown to a page.
      response.setHeader("Vary", "Origin");
      next();
    } else tell(request, response, next);
  };
}
