import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { ListeningServer } from "./listen.ts";
import type { NodeHandler } from "./nodeHandler.ts";

/** Whether the server is shutting down. */
export interface StopState {
  stopping: boolean;
}

/** The time limits of a shutdown, in milliseconds. */
export interface StopTimes {
  /** How long the server accepts requests, until load balancers notice that it stops. Part of `wholeMs`. */
  delayMs: number;
  /** Responses that are not finished by then are cut off. */
  wholeMs: number;
}

/** Lets a server stop without cutting off requests. */
export type Drain = ReturnType<typeof makeDrain>;

/** Tracks connections, so that a server that stops can finish the requests in progress and accept no more. */
export function makeDrain() {
  const state: StopState = { stopping: false };
  /**
   * Open connections, each with its latest response. Kept by connection, since responses come and go far more often.
   */
  const connections = new Map<Socket, { latest?: ServerResponse }>();

  /** Without this header clients keep their connection open during a shutdown. */
  const endConnection = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };

  const track: NodeHandler = ({ socket }, response, next) => {
    const connection = connections.get(socket);
    if (connection) connection.latest = response;
    if (state.stopping) endConnection(response);
    next();
  };

  /** Tracks the connections that a server accepts from now on. */
  const watch = (server: Server) => {
    server.on("connection", (socket) => {
      connections.set(socket, {});
      socket.once("close", () => connections.delete(socket));
    });
  };

  /**
   * Accepts requests for `delayMs`, each the last on its connection. Then closes the port, waits for responses in
   * progress, and cuts off those that exceed `wholeMs`.
   */
  const finish = async (
    server: Server,
    listening: ListeningServer,
    { delayMs, wholeMs }: StopTimes,
  ) => {
    state.stopping = true;
    for (const { latest } of connections.values()) if (latest) endConnection(latest);
    if (delayMs > 0) await setTimeout(delayMs);
    const closed = listening.close();
    server.closeIdleConnections();
    // Node does not count connections without any request as idle.
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    await Promise.race([closed, setTimeout(wholeMs - delayMs, undefined, { ref: false })]);
    server.closeAllConnections();
  };

  return { state, track, watch, finish };
}
