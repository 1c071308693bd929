import type { IncomingMessage, ServerResponse } from "node:http";

/** Middleware that uses only Node's request and response, so that it runs inside and outside Express. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void;
