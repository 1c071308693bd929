import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { pipeline } from "node:stream";
import { type TLSSocket, createServer } from "node:tls";

/** An https URL before an HTTP server. */
export interface TlsFront {
  url: string;
  stop(): Promise<void>;
}

/** Terminates TLS at `localhost` for the server at `target`; the URL keeps its path. */
export async function startTlsFront(
  target: string,
  certificate: { key: string; cert: string },
): Promise<TlsFront> {
  const url = new URL(target);
  const [port, host] = [Number(url.port), url.hostname];
  const open = new Set<TLSSocket>();
  const server = createServer(certificate, (outer) => {
    open.add(outer);
    outer.once("close", () => open.delete(outer));
    const inner = connect(port, host);
    // An error or the end of one side closes the other.
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
