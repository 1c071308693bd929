import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, rename, stat } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { clusterFolder, readPidFile } from "./postgresCluster.ts";
import type { Place } from "./postgresPlace.ts";
import { postgresEnvironment } from "./postgresPlace.ts";
import { endPostgres, identifyProcess } from "./processIds.ts";

/** Options for starting a server on a complete cluster that is not in use. */
export interface LaunchOptions {
  /** A fixed port; by default a free one. */
  port?: number;
  /** Further command-line arguments of PostgreSQL. */
  postgresFlags?: string[];
  /** Data may be lost in a crash of the machine. The guard process removes the folders. */
  ephemeral?: boolean;
}

/** A launched server that accepts connections. */
export interface Server {
  child: ChildProcess;
  pid: number;
  port: number;
  /** Resolves when the server has ended. */
  ended: Promise<void>;
}

const startTimeoutMs = 120_000;
const maximumAttempts = 20;
const maxLogBytes = 10_000_000;

/**
 * Starts the server and waits until it accepts connections. Retries with another port if the chosen one was taken
 * meanwhile.
 * @throws with the end of its log when it does not start
 */
export async function launchServer(place: Place, options: LaunchOptions): Promise<Server> {
  const logFile = path.join(place.folder, "postgres.log");
  if (existsSync(logFile) && (await stat(logFile)).size > maxLogBytes) {
    await rename(logFile, `${logFile}.1`);
  }
  // A file and not a pipe: writing to the pipe of a dead parent would kill the server.
  const log = await open(logFile, "a+", 0o600);
  try {
    for (let attempt = 1; ; attempt++) {
      const port = options.port ?? (await findFreePort());
      const logStart = (await log.stat()).size;
      const server = await launchOn(port, place, options, log);
      if (server !== undefined) return server;

      const output = await readFrom(log, logStart);
      const portTaken = output.includes("could not create any TCP/IP sockets");
      // The child processes of a killed server need a moment to exit.
      const orphansLeft = output.includes("shared memory block");
      if (portTaken && options.port !== undefined) {
        throw new Error(`Port ${port} for the embedded PostgreSQL is taken. Choose another.`);
      }
      if (!(portTaken || orphansLeft) || attempt === maximumAttempts) {
        throw new Error(
          `The embedded PostgreSQL does not start. Its log ${logFile} says:\n${output}`,
        );
      }
      if (orphansLeft) await delay(250);
    }
  } finally {
    await log.close();
  }
}

/** Tries once to start the server; undefined when it ended before it was ready. */
async function launchOn(
  port: number,
  place: Place,
  options: LaunchOptions,
  log: FileHandle,
): Promise<Server | undefined> {
  const cluster = clusterFolder(place);
  // In a separate session, so that Ctrl-C in the terminal does not reach it: it must stop after
  // its clients.
  const child = spawn(
    path.join(place.bin, "postgres"),
    ["-D", cluster, "-p", String(port), ...settings(place, options)],
    {
      cwd: cluster,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: postgresEnvironment,
      ...place.runAs,
    },
  );
  const ended = new Promise<void>((resolve, reject) => {
    child.once("exit", () => resolve());
    child.once("error", reject);
  });
  if (child.pid === undefined) {
    await ended;
    return undefined;
  }
  child.unref();
  const guard = startGuard(child.pid, options.ephemeral ? place.folders : []);
  void ended.then(() => guard.stdin?.end());
  const server = { child, pid: child.pid, port, ended };

  const deadline = Date.now() + startTimeoutMs;
  while (child.exitCode === null && child.signalCode === null) {
    const state = await readPidFile(cluster);
    if (state?.pid === child.pid && state.ready) return server;
    if (Date.now() > deadline) {
      await endServer(server);
      return undefined;
    }
    await delay(15);
  }
  return undefined;
}

function settings(place: Place, options: LaunchOptions): string[] {
  const statistics = path.resolve(place.bin, "../lib/postgresql/pg_stat_statements");
  const hasStatistics = existsSync(`${statistics}.so`) || existsSync(`${statistics}.dylib`);
  const values = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=128MB",
    "max_connections=100",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_line_prefix=%m [%p] ",
    "log_checkpoints=off",
    "logging_collector=off",
    ...(hasStatistics ? ["shared_preload_libraries=pg_stat_statements"] : []),
    ...(options.ephemeral ? ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] : []),
  ];
  return [...values.flatMap((value) => ["-c", value]), ...(options.postgresFlags ?? [])];
}

function startGuard(pid: number, foldersToRemove: string[]): ChildProcess {
  const script = fileURLToPath(new URL("guard.ts", import.meta.url));
  const guard = spawn(process.execPath, [script, String(pid), ...foldersToRemove], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: {},
  });
  guard.on("error", () => undefined);
  guard.stdin?.on("error", () => undefined);
  guard.unref();
  if (guard.stdin instanceof net.Socket) guard.stdin.unref();
  return guard;
}

/** Shuts the server down and waits for its end. */
export async function endServer(server: Server): Promise<void> {
  // Keeps this process alive until the server has ended.
  server.child.ref();
  const id = identifyProcess(server.pid);
  if (id !== undefined && server.child.exitCode === null) await endPostgres(id);
  await server.ended;
}

async function findFreePort(): Promise<number> {
  const probe = net.createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port was found");
  return address.port;
}

async function readFrom(file: FileHandle, start: number): Promise<string> {
  const length = (await file.stat()).size - start;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
  return buffer.toString("utf8", 0, bytesRead).trim();
}
