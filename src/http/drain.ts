import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Listening } from "./listen.ts";
import type { NodeHandler } from "./nodeHandler.ts";

/** Whether the server has been told to stop. */
export interface StopState {
  stopping: boolean;
}

/** How long a stop may take, in milliseconds. */
export interface StopTimes {
  /** The server goes on taking requests for so long, until those who send them have learned that it goes. Part of `wholeMs`. */
  delayMs: number;
  /** Answers that are under way after this are cut off. */
  wholeMs: number;
}

/** Lets a server stop without cutting off requests. */
export type Drain = ReturnType<typeof makeDrain>;

/** Tracks connections, so that a server that stops can finish the requests in progress and accept no more. */
export function makeDrain() {
  const state: StopState = { stopping: false };
  /** Open connections, each with its latest answer: these come and go more seldom than answers do. */
  const connections = new Map<Socket, { latest?: ServerResponse }>();

  /** A client keeps its connection for further requests, also while a server stops, unless the answer says not to. */
  const endConnection = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };

  const track: NodeHandler = ({ socket }, response, next) => {
    const connection = connections.get(socket);
    if (connection) connection.latest = response;
    if (state.stopping) endConnection(response);
    next();
  };

  /** Knows the connections of a server from here on. */
  const watch = (server: Server) => {
    server.on("connection", (socket) => {
      connections.set(socket, {});
      socket.once("close", () => connections.delete(socket));
    });
  };

  /**
   * Takes what still comes until `delayMs` are over, each answer the last on its connection; then refuses new connections, waits
   * for the answers under way, and cuts off those that take too long. A connection that waits to be taken when the port closes is
   * lost to its client: there is none once nobody sends any more.
   */
  const finish = async (server: Server, listening: Listening, { delayMs, wholeMs }: StopTimes) => {
    state.stopping = true;
    for (const { latest } of connections.values()) if (latest) endConnection(latest);
    if (delayMs > 0) await setTimeout(delayMs);
    const closed = listening.close();
    server.closeIdleConnections();
    // Node counts one that has never asked anything among those that are at it.
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    await Promise.race([closed, setTimeout(wholeMs - delayMs, undefined, { ref: false })]);
    server.closeAllConnections();
  };

  return { state, track, watch, finish };
}
