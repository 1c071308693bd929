import type { Server as HttpServer } from "node:http";
import { type AddressInfo, type ListenOptions, type Server, createServer } from "node:net";

/** Length of the queue of connections; clients retry beyond it, a second later. */
const backlog = 4_096;
/**
 * Node accepts one connection per tick and listening socket. Under load a tick takes tens of milliseconds: with one
 * socket, new clients and health checks would wait for seconds.
 */
const places = 32;

/** A listening server. */
export interface ListeningServer {
  port: number;
  /** Accepts no new connections; resolves when the open ones have ended. */
  close(): Promise<void>;
}

/**
 * Listens with several sockets at one port; port 0 takes a free one.
 * @throws EADDRINUSE when another process has the port, and other system errors
 */
export async function listenOnSeveralSockets(
  server: HttpServer,
  host: string,
  port: number,
): Promise<ListeningServer> {
  // Only Linux distributes connections among the sockets of one port.
  if (process.platform !== "linux") {
    const taken = await listenAt(server, { host, port, backlog });
    return { port: taken, close: () => closed(server) };
  }
  // A socket that shares its port does not report that another process has it; the probe does.
  const probe = createServer();
  const free = await listenAt(probe, { host, port });
  await closed(probe);
  const servers = [
    server,
    ...Array.from({ length: places - 1 }, () =>
      createServer({ noDelay: true }, (socket) => server.emit("connection", socket)),
    ),
  ];
  for (const one of servers) await listenAt(one, { host, port: free, backlog, reusePort: true });
  return {
    port: free,
    async close() {
      await Promise.all(servers.map(closed));
    },
  };
}

function listenAt(server: Server, options: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
