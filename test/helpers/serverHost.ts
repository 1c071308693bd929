import { once } from "node:events";
import { createServer } from "node:net";
import { readConfig } from "../../src/config.ts";

// A process in which the servers of test files run one after another: what a server needs is loaded and compiled once and not
// for each file, which takes several times as long as the start itself. Whoever connects sends the environment of a server as
// a line of JSON; what comes back is a line with its address or why there is none, and then its log. The server stops when the
// other side ends the connection, and the connection is closed when it has stopped.
const host = createServer({ allowHalfOpen: true }, (socket) => {
  socket.setEncoding("utf8");
  socket.on("error", () => undefined);
  let text = "";
  const ended = once(socket, "end").catch(() => undefined);
  socket.on("data", (chunk: string) => {
    text += chunk;
    if (text.endsWith("\n")) void serve(JSON.parse(text) as NodeJS.ProcessEnv);
  });

  async function serve(environment: NodeJS.ProcessEnv): Promise<void> {
    const write = (line: string) => {
      if (socket.writable) socket.write(line);
    };
    try {
      const { startServer } = await import("../../src/startServer.ts");
      const server = await startServer(readConfig(environment, ["server"]), { write });
      write(`${JSON.stringify({ url: server.url })}\n`);
      await ended;
      await server.stop("the test is over");
    } catch (error) {
      write(`${JSON.stringify({ error: String(error) })}\n`);
    }
    socket.end();
  }
});

host.listen(0, "127.0.0.1", () => process.send?.(host.address()));
process.once("disconnect", () => process.exit());
