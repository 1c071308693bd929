import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { createServer } from "node:net";
import { format } from "node:util";
import { readConfig } from "../../src/config.ts";
import type { ConstantOverrides } from "../../src/settings/constants.ts";

// A process that runs the servers and migrations of test files one after another. It loads and compiles their modules once,
// which takes several times as long as the work itself. A client sends a line of JSON with the command and its environment.
// - A server: the response is a line with its URL or its error, then its log. The server stops when the client ends the
//   connection, and the connection closes when the server has stopped.
// - The migrate command: the response is its exit code and its output.
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
      // Other processes that tests start load the compiled code; this one exits after all of them.
      flushCompileCache();
    } catch (error) {
      write(`${JSON.stringify({ error: String(error) })}\n`);
    }
    socket.end();
  }

  async function migrate(environment: NodeJS.ProcessEnv, args?: string[]): Promise<void> {
    const { runMigrateCommand } = await import("../../src/migration/migrate.ts");
    let output = "";
    const say = (what: unknown) => (output += `${format(what)}\n`);
    const code = await runMigrateCommand(environment, { log: say, error: say }, args);
    socket.end(JSON.stringify({ code, output }));
  }
});

host.listen(0, "127.0.0.1", () => process.send?.(host.address()));
process.once("disconnect", () => process.exit());
