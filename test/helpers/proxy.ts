import { type AddressInfo, type Socket, createConnection, createServer } from "node:net";

/** A relay before a TCP server that can be taken away and given back. */
export interface Proxy {
  /** The same address as the server's, but through the relay. */
  url: string;
  /** Cuts all connections; new ones are refused, or taken and hung up. */
  cut(manner?: "refuse" | "hang up"): Promise<void>;
  /** Connections that were hung up. */
  hungUp(): number;
  /** Lets connections through again, at the same port. */
  restore(): Promise<void>;
  /** Lets what is sent pass, but no answer on a connection that has sent this text; tells when one has, until `restore`. */
  holdAnswersTo(text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a relay before the server that a URL names. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let listening: { close: () => Promise<void>; port: number } | null = null;
  let hangsUp = false;
  let hungUp = 0;
  let held: { text: string; seen: () => void } | null = null;

  const listen = async (at: number) => {
    const server = createServer((inner) => {
      if (hangsUp) {
        hungUp++;
        inner.destroy();
        return;
      }
      const outer = createConnection(Number(port), hostname);
      for (const [socket, other] of [
        [inner, outer],
        [outer, inner],
      ] as const) {
        sockets.add(socket);
        // The other end of a connection that breaks notices it, which is all there is to do.
        socket.on("error", () => other.destroy());
        socket.on("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
      inner.on("data", (chunk: Buffer) => {
        if (!held || !chunk.includes(held.text)) return;
        outer.unpipe(inner);
        held.seen();
      });
    });
    await new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve));
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    return { close, port: (server.address() as AddressInfo).port };
  };

  listening = await listen(0);
  const own = listening.port;
  const url = new URL(target);
  url.host = `127.0.0.1:${own}`;

  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const close = async () => {
    const closed = listening?.close();
    listening = null;
    endAll();
    await closed;
  };
  return {
    url: url.href,
    async cut(manner = "refuse") {
      hangsUp = manner === "hang up";
      if (hangsUp) endAll();
      else await close();
    },
    hungUp: () => hungUp,
    holdAnswersTo: (text) =>
      new Promise((seen) => {
        held = { text, seen };
      }),
    async restore() {
      hangsUp = false;
      held = null;
      listening ??= await listen(own);
    },
    stop: close,
  };
}
