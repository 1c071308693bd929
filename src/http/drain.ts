import type { Server } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { RequestHandler, Response } from "express";
import type { Listening } from "./listen.ts";

/** Whether the server has been told to stop. */
export interface StopState {
  stopping: boolean;
}

/** How a server that is told to stop finishes what is under way and takes nothing more. */
export function makeDrain(state: StopState) {
  const open = new Set<Response>();

  /** A client keeps its connection for further requests, also while a server stops, unless the answer says not to. */
  const endConnection = (response: Response) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };

  const track: RequestHandler = (_request, response, next) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    if (state.stopping) endConnection(response);
    next();
  };

  /** Refuses new connections, waits for the answers under way, and cuts off those that take longer than `timeoutMs`. */
  const drain = async (server: Server, listening: Listening, timeoutMs: number) => {
    state.stopping = true;
    open.forEach(endConnection);
    const closed = listening.close();
    server.closeIdleConnections();
    await Promise.race([closed, setTimeout(timeoutMs, undefined, { ref: false })]);
    server.closeAllConnections();
  };

  return { track, drain };
}
