import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import type { Config } from "../src/config.ts";
import { ConfigError, readConfig } from "../src/config.ts";
import { prepareDataFolder } from "./dataFolder.ts";
import type { KeptDatabase } from "./emulators/keepDatabase.ts";
import { keepDatabase } from "./emulators/keepDatabase.ts";
import { emulatorFoldersOf, needsEmulators } from "./emulators/startEmulators.ts";
import { exposureWarning } from "../src/settings/server.ts";
import { type Page, onNpmExit, sameCtrlCMs, stopSignals } from "../src/process/lifecycle.ts";
import { nodeFlags } from "../src/process/heap.ts";
import { lowerPriority } from "../src/process/priority.ts";
import type { Supervised } from "./supervise.ts";
import { supervise } from "./supervise.ts";
import { removeRunningFile, writeRunningFile } from "./runningFile.ts";
import { watchFolders } from "./watch.ts";
import { banner } from "./banner.ts";

// `npm start`: the whole service on one machine. A database when none is configured, the
// migrations, then the server and the worker, kept running until Ctrl-C. With `--watch` they restart
// when a file changes. `--allow-breaking` is passed to the migrations.

const root = path.resolve(import.meta.dirname, "..");

const say = (line: string) => process.stdout.write(`${line}\n`);
const running: Supervised[] = [];
let database: KeptDatabase | undefined;
let emulators: Supervised | undefined;
let pages: readonly Page[] = [];
let dataDir: string | undefined;
let migration: ChildProcess | undefined;
let stopWatching: (() => void) | undefined;
let stoppingSince: number | undefined;
/** Whether migrations may take from the API what callers use, those of watched files included. */
let allowBreaking = false;

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      watch: { type: "boolean", default: false },
      "allow-breaking": { type: "boolean", default: false },
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
    database = await keepDatabase({
      dataDir: path.join(config.dataDir, "postgres"),
      log: (line) => say(`database: ${line}`),
      onGiveUp: () => void shutDown(1),
    });
    env["DATABASE_URL"] = database.url;
  }
  // Ctrl-C may have come while the database started.
  if (stoppingSince !== undefined) {
    await stopEmbedded();
    return;
  }

  // What they keep is in the folder that the database has locked.
  const standInsReady = startStandIns(config, env);
  if (!(await migrate(env))) return shutDown(1);
  await standInsReady;
  if (stoppingSince !== undefined) return;
  announce(env);
  startChildren(config, env, flags.watch);
  if (flags.watch) {
    const { extraSqlDir } = config.database;
    const folders = ["src", "db", ...(extraSqlDir === undefined ? [] : [extraSqlDir])];
    stopWatching = watchFolders(root, folders, (paths) => startAnew(paths, env), say);
  }
}

/** Tells of a port in use before a database is made and migrated for nothing. */
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

async function stopEmbedded(): Promise<void> {
  await Promise.all([database?.stop(), emulators?.stop()]);
}

/** Starts what stands in for external systems, and resolves when `env` tells how to reach that; it does so anew when they start again. */
function startStandIns(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  if (!needsEmulators(config, env)) return Promise.resolve();
  const given = { ...env };
  let told: string[] = [];
  return new Promise((resolve) => {
    emulators = supervise({
      name: "process of the stand-ins",
      spawn: () => startBehind("dev/runEmulators.ts", given),
      log: say,
      // They hold nothing that would have to be finished.
      stopTimeoutMs: 8_000,
      onReady: (message) => {
        for (const name of told) env[name] = given[name];
        told = Object.keys(message.env ?? {});
        Object.assign(env, message.env);
        announce(env);
        pages = message.pages ?? [];
        resolve();
        // After the first time: they have other keys than before.
        void Promise.all(running.map((child) => child.restart()));
      },
      onGiveUp: () => void shutDown(1),
    });
  });
}

/** Lets commands that run beside this process find its database and emulators. */
function announce(env: NodeJS.ProcessEnv): void {
  if (dataDir !== undefined && database !== undefined) writeRunningFile(dataDir, env);
}

function startChildren(config: Config, env: NodeJS.ProcessEnv, watching: boolean): void {
  const waiting = new Set(["server", "worker"]);
  let url = "";
  for (const name of ["server", "worker"]) {
    const child = supervise({
      name,
      // On one machine answers come before jobs.
      spawn: () =>
        name === "worker"
          ? startBehind("src/worker.ts", env)
          : spawnNode(`src/${name}.ts`, env, "ipc"),
      log: say,
      stopTimeoutMs: config.shutdownSeconds * 1000 + 5000,
      onReady: (message) => {
        url = message.url ?? url;
        if (!waiting.delete(name) || waiting.size > 0) return;
        say(
          banner({
            url,
            production: config.production,
            warning: exposureWarning(config),
            dataFolder: database?.folder,
            databaseUrl: database?.url,
            login: Boolean(env["OIDC_PROVIDERS"]),
            pages,
          }),
        );
      },
      onGiveUp: () => {
        if (watching) say(`the ${name} starts again at the next change of a file`);
        else void shutDown(1);
      },
    });
    running.push(child);
  }
}

async function startAnew(paths: string[], env: NodeJS.ProcessEnv): Promise<void> {
  say(`changed: ${paths.join(", ")}`);
  const databaseChanged = paths.some((changed) => !changed.startsWith(`src${path.sep}`));
  if (databaseChanged && !(await migrate(env))) return;
  if (stoppingSince !== undefined) return;
  await Promise.all(running.map((child) => child.restart()));
}

/** Brings the database up to date. Returns false when that failed; the script has said why. */
async function migrate(env: NodeJS.ProcessEnv): Promise<boolean> {
  migration = spawnNode("db/migrate.ts", env, "ignore", allowBreaking ? ["--allow-breaking"] : []);
  const [code] = (await once(migration, "exit")) as [number | null];
  migration = undefined;
  if (code !== 0 && stoppingSince === undefined) say("the migrations failed");
  return code === 0;
}

/**
 * Starts one of our scripts in a process group of its own, so that Ctrl-C in the terminal does not
 * reach it: it is told to stop in good order, by us or by the closing of its channel.
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

/** Starts a process that steps back behind the server. */
function startBehind(script: string, env: NodeJS.ProcessEnv): ChildProcess {
  const started = spawnNode(script, env, "ipc");
  if (started.pid !== undefined) lowerPriority(started.pid);
  return started;
}

async function shutDown(exitCode: number): Promise<void> {
  if (stoppingSince !== undefined) return;
  stoppingSince = Date.now();
  // Whatever hangs, a database that is just being made for one, must not keep this process for ever; children have a bound of
  // their own, at most ten minutes.
  setTimeout(() => process.exit(exitCode || 1), running.length > 0 ? 650_000 : 15_000).unref();
  try {
    stopWatching?.();
    if (migration !== undefined) {
      migration.kill("SIGTERM");
      await once(migration, "exit");
    }
    await Promise.all(running.map((child) => child.stop()));
    await stopEmbedded();
    if (dataDir !== undefined) removeRunningFile(dataDir);
    process.exitCode = exitCode;
  } catch (error) {
    fail(error);
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (stoppingSince === undefined) {
    say("\nstopping; Ctrl-C again ends everything at once");
    void shutDown(0);
  } else if (signal === "SIGINT" && Date.now() - stoppingSince > sameCtrlCMs) {
    migration?.kill("SIGKILL");
    for (const child of [...running, ...(emulators ? [emulators] : [])]) child.kill();
    // The database's guard sees that this process is gone and shuts the database down.
    process.exit(130);
  }
}

function fail(error: unknown): void {
  // The messages of our own errors are made for the person at the keyboard.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

for (const signal of stopSignals) process.on(signal, onSignal);
onNpmExit(process.env, () => void shutDown(0));
// A terminal or a reader of the output that is gone must not end this process before its children.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
main().catch(async (error: unknown) => {
  // What was being made has heard Ctrl-C as well.
  if (stoppingSince !== undefined) return;
  fail(error);
  await shutDown(1);
});
