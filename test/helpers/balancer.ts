import { type AddressInfo, type Socket, createConnection, createServer } from "node:net";

/** One address for several servers. */
export interface Balancer {
  url: string;
  stop(): Promise<void>;
}

const checkMs = 250;
const checkTimeoutMs = 1_000;

/**
 * Distributes connections round-robin over the servers whose `/readyz` succeeds, as a production load balancer
 * does.
 * A refused connection goes to the next server. With no ready server it tries all, so that the caller sees a
 * server's error.
 * @param members the URLs of the running servers
 */
export async function startBalancer(members: () => readonly string[]): Promise<Balancer> {
  const ready = new Set<string>();
  const sockets = new Set<Socket>();
  let turn = 0;

  const check = async (member: string) => {
    const signal = AbortSignal.timeout(checkTimeoutMs);
    const healthy = await fetch(`${member}/readyz`, { signal }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => false,
    );
    if (healthy) ready.add(member);
    else ready.delete(member);
  };
  const checking = setInterval(() => {
    const current = members();
    for (const member of ready) if (!current.includes(member)) ready.delete(member);
    for (const member of current) void check(member);
  }, checkMs);

  const roundRobin = (): string[] => {
    const current = members();
    const healthy = current.filter((member) => ready.has(member));
    const from = healthy.length > 0 ? healthy : [...current];
    turn = (turn + 1) % Math.max(1, from.length);
    return [...from.slice(turn), ...from.slice(0, turn)];
  };

  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };

  const forward = (inner: Socket, [member, ...others]: string[]) => {
    if (member === undefined) {
      inner.destroy();
      return;
    }
    const { hostname, port } = new URL(member);
    const outer = createConnection(Number(port), hostname);
    track(outer);
    const refused = () => forward(inner, others);
    outer.once("error", refused);
    outer.once("connect", () => {
      outer.off("error", refused);
      outer.on("error", () => inner.destroy());
      outer.on("close", () => inner.destroy());
      inner.on("close", () => outer.destroy());
      inner.pipe(outer);
      outer.pipe(inner);
    });
  };

  const server = createServer((inner) => {
    track(inner);
    inner.on("error", () => inner.destroy());
    forward(inner, roundRobin());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      clearInterval(checking);
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
