import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { pipeline } from "node:stream";
import { type TLSSocket, createServer } from "node:tls";

/** An https address of a server that speaks HTTP. */
export interface TlsFront {
  url: string;
  stop(): Promise<void>;
}

/** Ends TLS before the server at `target`, at `localhost`. The path of the address stays. */
export async function startTlsFront(
  target: string,
  certificate: { key: string; cert: string },
): Promise<TlsFront> {
  const url = new URL(target);
  const open = new Set<TLSSocket>();
  const server = createServer(certificate, (outer) => {
    open.add(outer);
    outer.once("close", () => open.delete(outer));
    const inner = connect(Number(url.port), url.hostname);
    // A connection that breaks on one side ends on the other.
    pipeline(outer, inner, outer, () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url.protocol = "https:";
  url.host = `localhost:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href.replace(/\/$/, ""),
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
