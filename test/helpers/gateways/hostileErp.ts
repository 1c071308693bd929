import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Writes a response in place of the ERP's, which it receives. */
export type ResponseOverride = (
  answer: { value?: Record<string, unknown>[] } & Record<string, unknown>,
  response: ServerResponse,
  request: IncomingMessage,
) => void;

/** A proxy for an ERP that can return any response. */
export interface HostileErp {
  /** The value for ERP_BASE_URL. */
  baseUrl: string;
  /** Replaces all responses of an entity set from now on; null restores them. */
  overrideResponses(set: string, how: ResponseOverride | null): void;
  /** The number of requests so far. */
  requestCount(): number;
  stop(): Promise<void>;
}

/** Starts a proxy for the ERP at `target`, such as the emulator. */
export async function startHostileErp(target: string): Promise<HostileErp> {
  const overrides = new Map<string, ResponseOverride>();
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    answer(request, response).catch(() => response.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", "http://hostile");
    url.searchParams.delete("$skiptoken");
    const given = await fetch(new URL(target).origin + url.pathname + url.search, {
      headers: {
        authorization: request.headers.authorization ?? "",
        prefer: String(request.headers.prefer ?? ""),
      },
    });
    const text = await given.text();
    const how = overrides.get(url.pathname.split("/").at(-1) ?? "");
    if (how && given.ok)
      how(JSON.parse(text) as Parameters<ResponseOverride>[0], response, request);
    else response.writeHead(given.status, { "content-type": "application/json" }).end(text);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}${new URL(target).pathname}`,
    overrideResponses(set, how) {
      if (how) overrides.set(set, how);
      else overrides.delete(set);
    },
    requestCount: () => requests,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
