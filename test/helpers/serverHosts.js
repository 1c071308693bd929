import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { compileCache, programPath } from "./environment.ts";

/** Starts server hosts for the tests; returns them with their ports. They exit with this process. */
export async function startServerHosts(count) {
  const hosts = Array.from({ length: count }, () =>
    spawn(process.execPath, [join(import.meta.dirname, "serverHost.ts")], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // Disables development checks of libraries such as graphql. Each server receives its own settings.
      env: {
        ...{ PATH: programPath, GRAPHILE_ENV: "production", NODE_ENV: "production" },
        ...compileCache,
      },
    }),
  );
  const ports = await Promise.all(
    hosts.map(async (host) => {
      const [first] = await Promise.race([once(host, "message"), once(host, "exit")]);
      if (first?.port === undefined) throw new Error("a server host exited during startup");
      return first.port;
    }),
  );
  return { hosts, ports };
}

export async function stopServerHosts(hosts) {
  await Promise.all(
    hosts.map(async (host) => {
      const ended = once(host, "exit");
      host.disconnect();
      await ended;
    }),
  );
}
