import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { commandLine } from "../../../dev/emulators/processIds.ts";
import { compileCache } from "../environment.ts";

const postgresModule = new URL("../../../dev/emulators/postgres.ts", import.meta.url).href;

// Starts a database with the options in argv, reports the result over IPC and stops on a message.
const starter = `
const { startLocalPostgres } = await import(${JSON.stringify(postgresModule)});
process.on("disconnect", () => process.exit());
try {
  const options = JSON.parse(process.argv[1]);
  const database = await startLocalPostgres({ ...options, log: () => undefined });
  process.once("message", async () => {
    await database.stop();
    process.exit();
  });
  process.send({ url: database.url, pid: database.pid, folder: database.folder });
} catch (error) {
  process.send({ error: error.message });
}
`;

/** The result that the child process reports. */
export interface Started {
  url: string;
  pid: number;
  folder: string;
  error?: string;
}

type StarterOptions = { dataDir: string; ephemeral?: boolean };
type RunAs = { uid: number; gid: number };

/** Spawns a process that starts a database, optionally as another system user. */
export function spawnStarter(options: StarterOptions, runAs?: RunAs): ChildProcess {
  return spawn(
    process.execPath,
    ["--input-type=module", "--eval", starter, JSON.stringify(options)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], env: compileCache, cwd: "/", ...runAs },
  );
}

/** Spawns the process and waits for its result. */
export async function startInChild(
  options: StarterOptions,
  runAs?: RunAs,
): Promise<{ child: ChildProcess; started: Started }> {
  const child = spawnStarter(options, runAs);
  const [started] = (await once(child, "message")) as [Started];
  return { child, started };
}

/** The ids of the processes whose command line contains a text. */
export async function findProcesses(text: string): Promise<number[]> {
  if (process.platform !== "linux") {
    const lines = execFileSync("ps", ["-axww", "-o", "pid=,command="], { encoding: "utf8" });
    return lines
      .split("\n")
      .filter((line) => line.includes(text))
      .map((line) => Number.parseInt(line, 10));
  }
  const pids = (await readdir("/proc")).map(Number).filter(Number.isInteger);
  return pids.filter((pid) => commandLine(pid).includes(text));
}

/** Kills a child process with SIGKILL and waits for its exit. */
export async function killHard(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
