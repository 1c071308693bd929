import type { Server as HttpServer } from "node:http";
import { type AddressInfo, type ListenOptions, type Server, createServer } from "node:net";

/** Connections that wait to be taken when many come at once; those beyond are tried anew by their clients a second later. */
const backlog = 4_096;
/**
 * A process takes one connection in each turn of its event loop for each place that it listens at. Under load a turn takes tens of
 * milliseconds: with one place, new clients, and those who look after the server's health, would wait for many seconds.
 */
const places = 32;

/** Where a server listens. */
export interface Listening {
  port: number;
  /** Takes no new connections from now on; resolves when those that are open have ended. */
  close(): Promise<void>;
}

/**
 * Opens a server to many connections at once; port 0 takes a free one.
 * @throws EADDRINUSE where another process has the port, and what else the system says
 */
export async function listenForMany(
  server: HttpServer,
  host: string,
  port: number,
): Promise<Listening> {
  // Only Linux shares connections out among several places at one port.
  if (process.platform !== "linux") {
    const taken = await listenAt(server, { host, port, backlog });
    return { port: taken, close: () => closed(server) };
  }
  // Those that share a port do not tell that another process has it, too; one that does not share does.
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
