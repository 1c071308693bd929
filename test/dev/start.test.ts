import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { identifyProcess, workingFolder } from "../../dev/emulators/processIds.ts";
import { compileCache, programPath } from "../helpers/environment.ts";
import { nodeFlags } from "../../src/process/heap.ts";
import { findProcesses, killHard } from "../helpers/dev/childScripts.ts";
import { type WithoutNetwork, withoutNetwork } from "../helpers/dev/withoutNetwork.ts";
import { waitFor } from "../helpers/waitFor.ts";

// Runs the real `dev/start.ts` in a temporary project whose server, worker and migrations are small
// scripts that log their events to the file `events`.
const project = fileURLToPath(new URL("../..", import.meta.url));
const note = `
import { appendFileSync } from "node:fs";
const note = (event) => appendFileSync("events", event + " " + process.pid + "\\n");
`;
const longRunning = (name: string) => `${note}
import { onStop, reportReady } from "./process/lifecycle.ts";
import pg from "pg";
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
client.on("error", () => note("${name} lost the database"));
await client.connect();
onStop(async () => {
  await client.query("select 1");
  note("${name} finished with the database");
  await client.end();
});
note("${name} has " + process.execArgv.join(" "));
note("${name} reaches " + process.env.TYPESENSE_API_KEY);
note("${name} ready");
reportReady({ url: "http://127.0.0.1:4321" });
`;

let parent = "";
let folder = "";
let output = "";
let service: ChildProcess | undefined;
/** `npm start` needs none after `npm ci`. */
let network: WithoutNetwork;

beforeAll(async () => {
  parent = await mkdtemp(path.join(os.tmpdir(), "start-"));
  await chmod(parent, 0o755);
});
afterAll(() => rm(parent, { recursive: true }));

beforeEach(async () => {
  // The same for each test, because compiled code is kept by the path of its source.
  folder = path.join(parent, "project");
  await mkdir(folder);
  await chmod(folder, 0o755);
  // The asynchronous `cp` needs ten times as long.
  for (const name of ["src", "dev"])
    cpSync(path.join(project, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(project, "node_modules"), path.join(folder, "node_modules"));
  await copyFile(path.join(project, "package.json"), path.join(folder, "package.json"));
  await mkdir(path.join(folder, "db"));
  await writeFile(path.join(folder, "src/migration/migrate.ts"), `${note} note("migrated");`);
  await writeFile(path.join(folder, "src", "server.ts"), longRunning("server"));
  await writeFile(path.join(folder, "src", "worker.ts"), longRunning("worker"));
  await writeFile(path.join(folder, "events"), "");
  output = "";
  network = withoutNetwork();
});

afterEach(async () => {
  if (service !== undefined) await killHard(service);
  for (const pid of await runnersLeft()) process.kill(pid, "SIGKILL");
  // No process may remain in the test's folder.
  await waitFor("the end of all processes", async () => {
    return (await findProcesses(`${folder}/`)).length === 0;
  });
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  network.expectNone();
});

function start({ flags = [] as string[], env = {} } = {}): ChildProcess {
  return run(process.execPath, ["dev/start.ts", ...flags], env);
}

/** The same with `npm start`; returns npm's process. */
function startByNpm(): ChildProcess {
  return run("npm", ["start"], { PATH: programPath, HOME: folder });
}

function run(
  program: string,
  words: string[],
  env: NodeJS.ProcessEnv,
  options: { detached?: boolean } = {},
): ChildProcess {
  const child = spawn(program, words, {
    ...options,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...compileCache, ...network.env, ...env },
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  service = child;
  return child;
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

/** A start takes seconds, but other suites may use both processors. */
const running = () =>
  waitFor("the service", () => output.includes("Ctrl-C stops everything"), 110_000);

async function events(): Promise<string[]> {
  const text = await readFile(path.join(folder, "events"), "utf8");
  return text.split("\n").filter((line) => line !== "");
}

/** The running processes of `dev/start.ts`; npm may have exited before them. */
async function runnersLeft(): Promise<number[]> {
  const found = await findProcesses("dev/start.ts");
  return found.filter((pid) => workingFolder(pid) === folder);
}

async function left(): Promise<number[]> {
  return [...(await runnersLeft()), ...(await findProcesses(`${folder}/`))];
}

/** Whether the database has shut down cleanly, with all committed data on disk. */
async function databaseShutDown(): Promise<boolean> {
  const log = await readFile(path.join(folder, "data", "postgres", "postgres.log"), "utf8");
  return log.trimEnd().endsWith("database system is shut down");
}

async function pidOf(event: string): Promise<number> {
  const found = (await events()).findLast((line) => line.startsWith(`${event} `));
  return Number(found?.split(" ").at(-1));
}

/** The emulator process. */
async function emulatorProcess(): Promise<number> {
  const found = await findProcesses(`${folder}/dev/runEmulators.ts`);
  expect(found).toHaveLength(1);
  return found[0] ?? NaN;
}

/** The search engine key that the last started server got. */
async function keyOf(): Promise<string | undefined> {
  return (await events()).findLast((line) => line.startsWith("server reaches "))?.split(" ")[2];
}

const named = (list: string[]) => list.map((line) => line.replace(/ \d+$/, ""));

test("migrates, starts all processes, prints their addresses, and stops cleanly on Ctrl-C", async () => {
  const child = start();
  await running();
  expect(output).toContain("POST http://127.0.0.1:4321/graphql");
  expect(output).toContain("Authorization: Bearer <token>");
  const receiver = /Product sync +(http:\/\/127\.0\.0\.1:\d+\/)/.exec(output)?.[1] ?? "";
  expect(await (await fetch(receiver)).text()).toContain("No calls yet");
  expect(output).toContain(`The data is kept in ${path.join(folder, "data", "postgres")}`);
  expect(named(await events())[0]).toBe("migrated");

  // Twice at once, like npm, which forwards a signal that the terminal has already sent.
  child.kill("SIGINT");
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
  const all = named(await events());
  expect(all).toContain("server finished with the database");
  expect(all).toContain("worker finished with the database");
  expect(all).not.toContain("server lost the database");
});

test("refuses connections and look-ups beyond this machine in each of its processes", async () => {
  // A server that asks another machine, as a library with telemetry would.
  await writeFile(
    path.join(folder, "src", "server.ts"),
    `${note}
import { createSocket } from "node:dgram";
import { resolve4 } from "node:dns/promises";
import net from "node:net";
import { reportReady } from "./process/lifecycle.ts";
const outcomeOf = (work) => work.then(() => "connected", () => "refused");
const outcomes = await Promise.all([
  outcomeOf(fetch("http://192.0.2.1/")),
  outcomeOf(fetch("https://telemetry.example/")),
  outcomeOf(resolve4("telemetry.example")),
  outcomeOf(new Promise((resolve, reject) => net.connect(80, "192.0.2.2", resolve).on("error", reject))),
  outcomeOf(Promise.try(() => createSocket("udp4").send("x", 53, "192.0.2.3"))),
]);
note("server was " + outcomes.join(" "));
reportReady({ url: "http://127.0.0.1:4321" });
setInterval(() => {}, 1000);
process.on("SIGTERM", () => process.exit());`,
  );
  const child = start();
  await running();
  expect(named(await events())).toContain("server was refused refused refused refused refused");
  const hosts = network.refused().map((line) => line.split(" ")[0]);
  expect(hosts.sort()).toEqual([
    "192.0.2.1",
    "192.0.2.2",
    "192.0.2.3",
    "telemetry.example",
    "telemetry.example",
  ]);
  expect(() => network.expectNone()).toThrow("telemetry.example");
  child.kill("SIGTERM");
  await exitOf(child);
});

test("gives worker and emulators a lower priority than the server, and both the flags of a manual start", async () => {
  const child = start();
  await running();
  const [server, worker] = [await pidOf("server ready"), await pidOf("worker ready")];
  const all = named(await events());
  for (const name of ["server", "worker"])
    expect(all).toContain(`${name} has ${nodeFlags.join(" ")}`);
  expect(os.getPriority(server)).toBe(os.getPriority());
  const emulators = await emulatorProcess();
  const behind = [worker, emulators];
  for (const pid of behind) expect(os.getPriority(pid)).toBe(Math.max(10, os.getPriority()));
  // Empty or missing on systems without autogroup scheduling.
  const groupOf = async (pid: number) =>
    / nice (-?\d+)/.exec(await readFile(`/proc/${pid}/autogroup`, "utf8").catch(() => ""))?.[1];
  if ((await groupOf(server)) !== undefined) {
    expect(await groupOf(server)).toBe("0");
    for (const pid of behind)
      await waitFor("what steps back", async () => (await groupOf(pid)) === "10");
  }
  child.kill("SIGTERM");
  expect(await exitOf(child)).toBe(0);
});

test("restarts killed emulators, then server and worker with the new settings", async () => {
  const child = start();
  await running();
  const emulators = await emulatorProcess();
  const first = await keyOf();
  expect(first).toMatch(/^[\w-]{20,}$/);
  process.kill(emulators, "SIGKILL");
  await waitFor("a server with another key", async () => (await keyOf()) !== first);
  expect(output).toContain("the emulator process ended (SIGKILL); it starts again in");
  await waitFor(
    "both to start anew",
    async () => (await events()).filter((line) => /^(server|worker) ready /.test(line)).length >= 4,
  );
  child.kill("SIGTERM");
  expect(await exitOf(child)).toBe(0);
});

test("ends its children and the database after kill -9, and starts again", async () => {
  const child = start();
  await running();
  const server = await pidOf("server ready");
  await killHard(child);
  await waitFor("the end of the server", () => identifyProcess(server) === undefined);

  output = "";
  const before = await keyOf();
  const second = start();
  await running();
  // It uses the same ports as before.
  const after = await keyOf();
  expect([before, after].map((key) => /^[\w-]{20,}$/.test(key ?? ""))).toEqual([true, true]);
  expect(after).not.toBe(before);
  second.kill("SIGTERM");
  expect(await exitOf(second)).toBe(0);
});

test("restarts a killed server", async () => {
  const child = start();
  await running();
  process.kill(await pidOf("server ready"), "SIGKILL");
  await waitFor("a second server", async () => {
    return named(await events()).filter((event) => event === "server ready").length === 2;
  });
  child.kill("SIGTERM");
  expect(await exitOf(child)).toBe(0);
});

test("restarts a killed database at the same address", async () => {
  const child = start();
  await running();
  const pidFile = path.join(folder, "data", "postgres", "cluster", "postmaster.pid");
  const [pid, , , port] = (await readFile(pidFile, "utf8")).split("\n");
  process.kill(Number(pid), "SIGKILL");
  await waitFor("the database", () => output.split(`runs on port ${port}`).length === 3);
  child.kill("SIGTERM");
  await exitOf(child);
});

test.each(["SIGTERM", "SIGHUP", "SIGKILL"] as const)(
  "%s to npm stops server, worker and database cleanly",
  async (signal) => {
    const npm = startByNpm();
    await running();
    npm.kill(signal);
    await once(npm, "exit");
    await waitFor("the end of all processes", async () => (await left()).length === 0);
    const all = named(await events());
    expect(all).toContain("server finished with the database");
    expect(all).toContain("worker finished with the database");
    expect(all).not.toContain("server lost the database");
    expect(await databaseShutDown()).toBe(true);
  },
);

test("SIGTERM during the creation of the database ends all processes", async () => {
  const npm = startByNpm();
  await waitFor("the database", () => output.includes("creating a new database cluster"));
  npm.kill("SIGTERM");
  await once(npm, "exit");
  await waitFor("the end of all processes", async () => (await left()).length === 0);
  expect(await events()).toEqual([]);
});

test("Ctrl-C during the creation of the database is not reported as a failure", async () => {
  const child = run(process.execPath, ["dev/start.ts"], {}, { detached: true });
  await waitFor("the database", () => output.includes("creating a new database cluster"));
  // A terminal sends the signal to all processes of the group.
  process.kill(-(child.pid ?? NaN), "SIGINT");
  expect(await exitOf(child)).toBe(0);
  expect(output).not.toContain("cannot be created");
});

test("SIGTERM during the start of the emulators ends all processes", async () => {
  await writeFile(path.join(folder, "dev", "emulators.ts"), "setInterval(() => {}, 1000);");
  const npm = startByNpm();
  await waitFor("the migrations", async () => (await events()).length > 0);
  npm.kill("SIGTERM");
  await once(npm, "exit");
  await waitFor("the end of all processes", async () => (await left()).length === 0);
  expect(named(await events())).toEqual(["migrated"]);
  expect(await databaseShutDown()).toBe(true);
});

test("a second Ctrl-C does not wait for a hanging server", async () => {
  await writeFile(
    path.join(folder, "src", "server.ts"),
    longRunning("server").replace('await client.query("select 1")', "await new Promise(() => {})"),
  );
  const child = start();
  await running();
  await waitFor("the end", () => {
    child.kill("SIGINT");
    return child.exitCode !== null;
  });
  expect(child.exitCode).toBe(130);
});

test("an invalid configuration is reported, and nothing starts", async () => {
  const child = start({ env: { PORT: "many" } });
  expect(await exitOf(child)).toBe(1);
  expect(output).toContain('PORT must be a whole number, not "many"');
  expect(existsSync(path.join(folder, "data"))).toBe(false);
});

test.each([
  ["a file", "package.json", "package.json"],
  ["below a file", "package.json/data", "package.json/data"],
  ["in a file system that takes no folders", "/proc/nothing", "/proc/nothing"],
  ["with a file in place of an emulator's folder", "taken", "taken/search-engine"],
])("a data folder that is %s is reported, and nothing starts", async (_case, dataDir, named) => {
  await mkdir(path.join(folder, "taken"));
  await writeFile(path.join(folder, "taken", "search-engine"), "");
  const child = start({ env: { DATA_DIR: dataDir } });
  expect(await exitOf(child)).toBe(1);
  const problem = `DATA_DIR ${path.resolve(folder, dataDir)}: ${path.resolve(folder, named)} cannot be written to`;
  expect(output).toContain(problem);
  expect(await events()).toEqual([]);
});

test("a failed migration ends the start with exit code 1 and leaves no process", async () => {
  await writeFile(path.join(folder, "src/migration/migrate.ts"), "process.exit(7);");
  const child = start();
  expect(await exitOf(child)).toBe(1);
  expect(output).toContain("the migrations failed");
  expect(await events()).toEqual([]);
});

test("Ctrl-C during the migrations ends all processes", async () => {
  await writeFile(
    path.join(folder, "src/migration/migrate.ts"),
    `${note} note("migrating"); setInterval(() => {}, 1000);`,
  );
  const child = start();
  await waitFor("the migrations", async () => (await events()).length > 0);
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
  expect(named(await events())).toEqual(["migrating"]);
});

test("Ctrl-C during the migrations ends them and the build, which ends first", async () => {
  await writeFile(
    path.join(folder, "dev", "buildConsole.ts"),
    `${note} import { existsSync } from "node:fs";
note("building");
setInterval(() => existsSync("ending") && process.exit(), 10);`,
  );
  await writeFile(
    path.join(folder, "src/migration/migrate.ts"),
    `${note} import { readFileSync, writeFileSync } from "node:fs";
const buildRuns = () => {
  const [, pid] = readFileSync("events", "utf8").match(/building (\\d+)/);
  try { return process.kill(Number(pid), 0); } catch { return false; }
};
process.on("SIGTERM", () => {
  writeFileSync("ending", "");
  setInterval(() => buildRuns() || process.exit(), 10);
});
setInterval(() => {}, 1000);
note("migrating");`,
  );
  const child = start();
  await waitFor("both", async () => (await events()).length === 2);
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
});

/** Runs a command of `dev/` during or after the service's run, without psql. */
async function command(...words: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, words, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    // This folder contains no psql.
    env: { ...compileCache, PATH: folder },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

test("other commands find its database, and db:reset removes it only after the stop", async () => {
  const child = start();
  await running();
  expect(output).toMatch(/Database +postgres:\/\/postgres@127\.0\.0\.1:\d+\/back_office /);
  const file = path.join(folder, "data", "running.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const found = await command("dev/psql.ts", "-c", "select 6 * 7 as answer");
  expect(found).toEqual({ code: 0, output: expect.stringContaining("42") });
  expect(await command("dev/psql.ts", "-c", "select nothing")).toEqual({
    code: 1,
    output: 'ERROR: column "nothing" does not exist\n',
  });
  const refused = await command("dev/reset.ts", "--yes");
  expect(refused.code).toBe(1);
  expect(refused.output).toContain(`(process ${child.pid}): stop it with Ctrl-C`);

  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
  expect(existsSync(file)).toBe(false);
  expect(await command("dev/psql.ts", "-c", "select 1")).toEqual({
    code: 1,
    output: "No database: start the service with npm start, or set DATABASE_URL\n",
  });
  const unasked = await command("dev/reset.ts");
  expect(unasked).toEqual({ code: 1, output: "Nothing was removed: answer yes, or give --yes\n" });
  const cluster = path.join(folder, "data", "postgres", "cluster");
  expect(existsSync(cluster)).toBe(true);
  expect((await command("dev/reset.ts", "--yes")).code).toBe(0);
  expect(existsSync(cluster)).toBe(false);
  expect(await readdir(path.join(folder, "data"))).toEqual([]);
});

test("with --watch a changed program causes a restart, and changed SQL a migration before it", async () => {
  const child = start({ flags: ["--watch"] });
  await running();
  await writeFile(path.join(folder, "src", "changed.ts"), "export const changed = 1;");
  await waitFor("a second server", async () => {
    return named(await events()).filter((event) => event === "server ready").length === 2;
  });
  expect(named(await events()).filter((event) => event === "migrated")).toHaveLength(1);

  await writeFile(path.join(folder, "db", "changed.sql"), "select 1;");
  await waitFor("a third server", async () => {
    return named(await events()).filter((event) => event === "server ready").length === 3;
  });
  expect(named(await events()).filter((event) => event === "migrated")).toHaveLength(2);
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
});
