import { once } from "node:events";
import { type Socket, createConnection } from "node:net";

/** Opens this many slow connections: idle ones, and ones that send their head or body byte by byte. */
export async function openSlowly(url: string, count: number): Promise<() => void> {
  const { hostname, port } = new URL(url);
  const head = "POST /graphql HTTP/1.1\r\nHost: load\r\nContent-Type: application/json\r\n";
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    const socket = createConnection(Number(port), hostname);
    // The server may close connections that take too long.
    socket.on("error", () => undefined);
    sockets.push(socket);
  }
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  sockets.forEach((socket, n) => {
    if (n % 3 === 1) socket.write(head);
    if (n % 3 === 2) socket.write(`${head}Content-Length: 100000\r\n\r\n{"query":"`);
  });
  const dripping = setInterval(() => {
    sockets.forEach((socket, n) => {
      if (!socket.writable) return;
      if (n % 3 === 1) socket.write("X-Slow: 1\r\n");
      if (n % 3 === 2) socket.write("a");
    });
  }, 1_000);
  return () => {
    clearInterval(dripping);
    for (const socket of sockets) socket.destroy();
  };
}
