import type { IncomingMessage, ServerResponse } from "node:http";

/** A step of an answer that needs nothing of Express, and may stand in its line as well. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void;
