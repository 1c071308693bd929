import { once } from "node:events";
import { createServer, get } from "node:http";
import { createConnection } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { listenOnSeveralSockets } from "../../src/http/listen.ts";

const host = "127.0.0.1";

test("many new connections are accepted within few ticks", async () => {
  let connections = 0;
  const server = createServer((_request, response) => response.end("here"));
  server.on("connection", () => connections++);
  const listening = await listenOnSeveralSockets(server, host, 0);
  const sockets = Array.from({ length: 64 }, () => createConnection(listening.port, host));
  try {
    let turns = 0;
    for (; connections < 64; turns++) await setImmediate();
    // One after the other they would take one tick each.
    if (process.platform === "linux") expect(turns).toBeLessThan(48);
    for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const answers = await Promise.all(sockets.map((socket) => once(socket, "data")));
    for (const [answer] of answers) expect(String(answer)).toContain("here");
  } finally {
    const closed = listening.close();
    server.closeIdleConnections();
    for (const socket of sockets) socket.destroy();
    await closed;
  }
  const [error] = await once(get({ host, port: listening.port }), "error");
  expect(error).toMatchObject({ code: "ECONNREFUSED" });
});

test("a port in use is rejected, even with reusePort", async () => {
  const first = createServer();
  const listening = await listenOnSeveralSockets(first, host, 0);
  const second = listenOnSeveralSockets(createServer(), host, listening.port);
  await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  await listening.close();
});
