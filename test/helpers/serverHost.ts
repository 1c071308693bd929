import { once } from "node:events";
import { createServer } from "node:net";
import { format } from "node:util";
import { readConfig } from "../../src/config.ts";
import type { ConstantOverrides } from "../../src/settings/constants.ts";

// A process in which the servers and migrations of test files run one after another: what they need is loaded and compiled once
// and not for each of them, which takes several times as long as the work itself. Whoever connects sends what to run, with its
// environment, as a line of JSON.
// - A server: what comes back is a line with its address or why there is none, and then its log. It stops when the other side
//   ends the connection, and the connection is closed when it has stopped.
// - The migrate command: what comes back is its exit code and all that it said.
const host = createServer({ allowHalfOpen: true }, (socket) => {
  socket.setEncoding("utf8");
  socket.on("error", () => undefined);
  let text = "";
  const ended = once(socket, "end").catch(() => undefined);
  socket.on("data", (chunk: string) => {
    text += chunk;
    if (!text.endsWith("\n")) return;
    const { run, env, constants, args } = JSON.parse(text) as {
      run: "server" | "migrate";
      env: NodeJS.ProcessEnv;
      constants?: ConstantOverrides;
      args?: string[];
    };
    void (run === "server" ? serve(env, constants) : migrate(env, args));
  });

  async function serve(
    environment: NodeJS.ProcessEnv,
    constants?: ConstantOverrides,
  ): Promise<void> {
    const write = (line: string) => {
      if (socket.writable) socket.write(line);
    };
    try {
      const { startServer } = await import("../../src/server/startServer.ts");
      const server = await startServer(readConfig(environment, ["server"], constants), { write });
      write(`${JSON.stringify({ url: server.url })}\n`);
      await ended;
      await server.stop("the test is over");
    } catch (error) {
      write(`${JSON.stringify({ error: String(error) })}\n`);
    }
    socket.end();
  }

  async function migrate(environment: NodeJS.ProcessEnv, args?: string[]): Promise<void> {
    const { runMigrateCommand } = await import("../../db/migrate.ts");
    let output = "";
    const say = (what: unknown) => (output += `${format(what)}\n`);
    const code = await runMigrateCommand(environment, { log: say, error: say }, args);
    socket.end(JSON.stringify({ code, output }));
  }
});

host.listen(0, "127.0.0.1", () => process.send?.(host.address()));
process.once("disconnect", () => process.exit());
