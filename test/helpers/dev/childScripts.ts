import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { commandLine } from "../../../dev/emulators/processIds.ts";
import { compileCache } from "../environment.ts";

const postgresModule = new URL("../../../dev/emulators/postgres.ts", import.meta.url).href;

// Started with the options as its argument; tells over IPC how it went, and stops when told to.
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

/** What a child that started a database says of it. */
export interface Started {
  url: string;
  pid: number;
  folder: string;
  error?: string;
}

type StarterOptions = { dataDir: string; ephemeral?: boolean };
type RunAs = { uid: number; gid: number };

/** Starts a Node process, as another system user when one is given, that starts a database. */
export function spawnStarter(options: StarterOptions, runAs?: RunAs): ChildProcess {
  return spawn(
    process.execPath,
    ["--input-type=module", "--eval", starter, JSON.stringify(options)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"], env: compileCache, cwd: "/", ...runAs },
  );
}

/** The same, and waits until the database runs or has failed to. */
export async function startInChild(
  options: StarterOptions,
  runAs?: RunAs,
): Promise<{ child: ChildProcess; started: Started }> {
  const child = spawnStarter(options, runAs);
  const [started] = (await once(child, "message")) as [Started];
  return { child, started };
}

/** The numbers of the processes whose command line contains a text. */
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

/** Ends a child as a power cut would, and waits until it is gone. */
export async function killHard(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
