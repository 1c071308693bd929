import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import type { Config } from "../src/config.ts";
import { ConfigError, readConfig } from "../src/config.ts";
import { prepareDataFolder } from "./dataFolder.ts";
import type { SupervisedDatabase } from "./emulators/superviseDatabase.ts";
import { superviseDatabase } from "./emulators/superviseDatabase.ts";
import { emulatorFoldersOf, needsEmulators } from "./emulators/startEmulators.ts";
import { openClient } from "../src/postgres/pools.ts";
import { constants } from "../src/settings/constants.ts";
import { exposureWarning } from "../src/settings/server.ts";
import { type Page, onNpmExit, sameCtrlCMs, stopSignals } from "../src/process/lifecycle.ts";
import { nodeFlags } from "../src/process/heap.ts";
import { lowerPriority } from "../src/process/priority.ts";
import type { Supervised } from "./supervise.ts";
import { supervise } from "./supervise.ts";
import { removeRunningFile, writeRunningFile } from "./runningFile.ts";
import { watchFolders } from "./watch.ts";
import { banner } from "./banner.ts";

// `npm start`: the whole service on one machine. It starts a database when none is configured, migrates it, and runs the server and the
// worker until Ctrl-C. With `--watch` they restart when a file changes. `--allow-breaking` is passed to the migrations, `--erp-orders` to the ERP emulator.

const root = path.resolve(import.meta.dirname, "..");

const printLine = (line: string) => process.stdout.write(`${line}\n`);
const running: Supervised[] = [];
let database: SupervisedDatabase | undefined;
let emulators: Supervised | undefined;
let pages: readonly Page[] = [];
let dataDir: string | undefined;
/** The server's address, once it is ready. */
let serverUrl: string | undefined;
let migration: ChildProcess | undefined;
let consoleBuild: ChildProcess | undefined;
let stopWatching: (() => void) | undefined;
let stoppingSince: number | undefined;
/** The source files of `admin`, without the build output. */
const consoleSources = /^(?!dist\b).*\.(tsx?|css|html|svg)$/;
/** Whether migrations may break callers of the API. Applies to migrations after a file change, too. */
let allowBreaking = false;

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      watch: { type: "boolean", default: false },
      "allow-breaking": { type: "boolean", default: false },
      "erp-orders": { type: "string", default: "3000" },
    },
  });
  allowBreaking = flags["allow-breaking"];
  const config = readConfig(process.env, ["server", "worker"]);
  await refuseTakenPort(config);
  const env = { ...process.env };
  const hasOwnDatabase = config.database.url !== undefined;
  await prepareDataFolder(config.dataDir, [
    ...(hasOwnDatabase ? [] : ["postgres"]),
    ...emulatorFoldersOf(config, env),
  ]);
  dataDir = config.dataDir;
  if (!hasOwnDatabase) {
    database = await superviseDatabase({
      dataDir: path.join(config.dataDir, "postgres"),
      log: (line) => printLine(`database: ${line}`),
      onGiveUp: () => void shutDown(1),
    });
    env["DATABASE_URL"] = database.url;
  }
  // The user may have pressed Ctrl-C while the database started.
  if (stoppingSince !== undefined) {
    await stopDatabaseAndEmulators();
    return;
  }

  // Starts after the database, whose lock also protects the emulators' files.
  const emulatorsReady = startEmulatorProcess(config, env, flags["erp-orders"]);
  const consoleReady = buildConsole(env);
  if (!(await migrate(env))) return shutDown(1);
  await consoleReady;
  await emulatorsReady;
  if (stoppingSince !== undefined) return;
  announce(env);
  startChildren(config, env, flags.watch);
  if (flags.watch) {
    const { extraSqlDir } = config.database;
    const folders = ["src", "db", ...(extraSqlDir === undefined ? [] : [extraSqlDir])];
    const watchers = [
      watchFolders(root, folders, (paths) => restartChildren(paths, env), printLine),
      // The server loads a new build without a restart.
      watchFolders(root, ["admin"], () => buildConsole(env), printLine, consoleSources),
    ];
    stopWatching = () => {
      for (const stop of watchers) stop();
    };
  }
}

/** Refuses a port in use before the database is created and migrated. */
async function refuseTakenPort({ host, port }: Config): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, "listening");
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE") throw error;
    throw new ConfigError([`PORT ${port} is in use at ${host}: set another one`]);
  } finally {
    probe.close();
  }
}

async function stopDatabaseAndEmulators(): Promise<void> {
  await Promise.all([database?.stop(), emulators?.stop()]);
}

/** Starts the emulators, and resolves when `env` has their settings. A restart of the emulators updates `env`. */
function startEmulatorProcess(
  config: Config,
  env: NodeJS.ProcessEnv,
  erpOrders: string,
): Promise<void> {
  if (!needsEmulators(config, env)) return Promise.resolve();
  const original = { ...env };
  let names: string[] = [];
  return new Promise((resolve) => {
    emulators = supervise({
      name: "emulator process",
      spawn: () => startLowPriority("dev/runEmulators.ts", original, [`--erp-orders=${erpOrders}`]),
      log: printLine,
      // Emulators have no work to finish.
      stopTimeoutMs: 8_000,
      onReady: (message) => {
        for (const name of names) env[name] = original[name];
        names = Object.keys(message.env ?? {});
        Object.assign(env, message.env);
        announce(env);
        pages = message.pages ?? [];
        resolve();
        // Restarted emulators have other keys.
        void Promise.all(running.map((child) => child.restart()));
      },
      onGiveUp: () => void shutDown(1),
    });
  });
}

/** Lets commands that run beside this process find its database, emulators and server. */
function announce(env: NodeJS.ProcessEnv): void {
  if (dataDir !== undefined && env["NODE_ENV"] !== "production")
    writeRunningFile(dataDir, env, serverUrl);
}

function startChildren(config: Config, env: NodeJS.ProcessEnv, watching: boolean): void {
  const waiting = new Set(["server", "worker"]);
  for (const name of ["server", "worker"]) {
    const child = supervise({
      name,
      // On one machine requests have priority over jobs.
      spawn: () =>
        name === "worker"
          ? startLowPriority("src/worker.ts", env)
          : spawnNode(`src/${name}.ts`, env, "ipc"),
      log: printLine,
      stopTimeoutMs: config.shutdownSeconds * 1000 + 5000,
      onReady: (message) => {
        serverUrl = message.url ?? serverUrl;
        announce(env);
        if (waiting.delete(name) && waiting.size === 0) void printBanner(config, env);
      },
      onGiveUp: () => {
        if (watching) printLine(`the ${name} starts again at the next change of a file`);
        else void shutDown(1);
      },
    });
    running.push(child);
  }
}

async function printBanner(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  const ownerUrl = env["DATABASE_OWNER_URL"] || env["DATABASE_URL"];
  printLine(
    banner({
      url: serverUrl ?? "",
      production: config.production,
      warning: exposureWarning(config),
      dataFolder: database?.folder,
      databaseUrl: env["DATABASE_URL"],
      login: Boolean(env["OIDC_PROVIDERS"]),
      isEmpty: !config.production && ownerUrl !== undefined && (await isEmpty(ownerUrl)),
      pages,
    }),
  );
}

/** Whether the database that was just migrated has neither users nor products. */
async function isEmpty(ownerUrl: string): Promise<boolean> {
  const { schema } = constants.database;
  try {
    const client = await openClient(ownerUrl, 10_000);
    try {
      const { rows } = await client.query<{ empty: boolean }>(
        `select not exists (select from ${schema}.users) and not exists (select from ${schema}.products) as empty`,
      );
      return rows[0]?.empty === true;
    } finally {
      await client.end();
    }
  } catch (error) {
    printLine(`database: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

async function restartChildren(paths: string[], env: NodeJS.ProcessEnv): Promise<void> {
  printLine(`changed: ${paths.join(", ")}`);
  const databaseChanged = paths.some((changed) => !changed.startsWith(`src${path.sep}`));
  if (databaseChanged && !(await migrate(env))) return;
  if (stoppingSince !== undefined) return;
  await Promise.all(running.map((child) => child.restart()));
}

/** Migrates the database. Returns false when that failed; the script has printed the reason. */
async function migrate(env: NodeJS.ProcessEnv): Promise<boolean> {
  migration = spawnNode("src/migration/migrate.ts", env, "ignore", [
    "--caller-restarts",
    ...(allowBreaking ? ["--allow-breaking"] : []),
  ]);
  const [code] = (await once(migration, "exit")) as [number | null];
  migration = undefined;
  if (code !== 0 && stoppingSince === undefined) printLine("the migrations failed");
  return code === 0;
}

/** Builds the console when its sources have changed. The service runs without it: a failure is only printed. */
async function buildConsole(env: NodeJS.ProcessEnv): Promise<void> {
  consoleBuild = spawnNode("dev/buildConsole.ts", env, "ignore");
  const [code] = (await once(consoleBuild, "exit")) as [number | null];
  consoleBuild = undefined;
  if (code !== 0 && stoppingSince === undefined) printLine("the build of the console failed");
}

/**
 * Starts a script in a separate process group, so that Ctrl-C in the terminal does not reach it. This process stops
 * it by a signal or by closing the channel.
 */
function spawnNode(
  script: string,
  env: NodeJS.ProcessEnv,
  channel: "ipc" | "ignore",
  args: readonly string[] = [],
) {
  return spawn(process.execPath, [...nodeFlags, path.join(root, script), ...args], {
    cwd: root,
    env,
    detached: true,
    stdio: ["ignore", "inherit", "inherit", channel],
  });
}

/**
 * Starts a process and lowers its priority once it is ready. A lower priority from the beginning would delay its
 * start on a busy machine.
 */
function startLowPriority(
  script: string,
  env: NodeJS.ProcessEnv,
  args: readonly string[] = [],
): ChildProcess {
  const started = spawnNode(script, env, "ipc", args);
  const { pid } = started;
  if (pid !== undefined) started.once("message", () => lowerPriority(pid));
  return started;
}

async function endStep(step: ChildProcess): Promise<void> {
  const ended = once(step, "exit");
  step.kill("SIGTERM");
  await ended;
}

async function shutDown(exitCode: number): Promise<void> {
  if (stoppingSince !== undefined) return;
  stoppingSince = Date.now();
  // A step that hangs must not keep this process alive; children stop within ten minutes.
  setTimeout(() => process.exit(exitCode || 1), running.length > 0 ? 650_000 : 15_000).unref();
  try {
    stopWatching?.();
    // Concurrently: `once` would miss the exit of a step that ends while another is awaited.
    const steps = [migration, consoleBuild].filter((child) => child !== undefined);
    await Promise.all(steps.map(endStep));
    await Promise.all(running.map((child) => child.stop()));
    await stopDatabaseAndEmulators();
    if (dataDir !== undefined) removeRunningFile(dataDir);
    process.exitCode = exitCode;
  } catch (error) {
    fail(error);
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (stoppingSince === undefined) {
    printLine("\nstopping; Ctrl-C again kills everything");
    void shutDown(0);
  } else if (signal === "SIGINT" && Date.now() - stoppingSince > sameCtrlCMs) {
    for (const step of [migration, consoleBuild]) step?.kill("SIGKILL");
    for (const child of [...running, ...(emulators ? [emulators] : [])]) child.kill();
    // The database's guard process notices the exit and shuts the database down.
    process.exit(130);
  }
}

function fail(error: unknown): void {
  // Error messages are written for the user of the command.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

for (const signal of stopSignals) process.on(signal, onSignal);
onNpmExit(process.env, () => void shutDown(0));
// A closed terminal or output must not end this process before its children.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
main().catch(async (error: unknown) => {
  // After Ctrl-C, steps in progress fail as well.
  if (stoppingSince !== undefined) return;
  fail(error);
  await shutDown(1);
});
