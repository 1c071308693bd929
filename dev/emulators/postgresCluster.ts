import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Place } from "./postgresPlace.ts";
import { changeOwner, postgresEnvironment } from "./postgresPlace.ts";
import { commandLine, endPostgres, identifyProcess, workingFolder } from "./processIds.ts";

const run = promisify(execFile);
const unfinishedPrefix = "unfinished-";

/** The contents of a cluster's `postmaster.pid`. */
export interface PidFile {
  pid: number;
  ready: boolean;
}

/** PostgreSQL's data directory. */
export function clusterFolder(place: Pick<Place, "folder">): string {
  return path.join(place.folder, "cluster");
}

/**
 * Creates the cluster if it is missing, and returns the superuser's password.
 *
 * A new cluster is created in a temporary folder and then renamed, so that an interrupted start leaves no
 * incomplete cluster. The next start removes the temporary folder.
 *
 * @throws when the cluster belongs to another major version of PostgreSQL or its password cannot be read
 */
export async function ensureCluster(
  place: Place,
  options: { log: (line: string) => void; sync: boolean },
): Promise<string> {
  for (const name of await readdir(place.folder)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    options.log("removing a database that was not completed");
    await rm(path.join(place.folder, name), { recursive: true, force: true, maxRetries: 5 });
  }
  const cluster = clusterFolder(place);
  const passwordFile = path.join(place.folder, "password");
  if (existsSync(cluster)) {
    await checkVersion(cluster, place);
    return readPassword(passwordFile, cluster);
  }
  const password = randomBytes(24).toString("hex");
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  await initialise(place, password, options);
  return password;
}

/**
 * Stops a server that an earlier start left on this cluster. If its process ID now belongs to another program,
 * makes its `postmaster.pid` harmless.
 *
 * The server is not reused: it may be shutting down, and it has the port and settings of the earlier start.
 */
export async function stopLeftoverServer(place: Place, log: (line: string) => void): Promise<void> {
  const cluster = clusterFolder(place);
  const left = await readPidFile(cluster);
  if (left === undefined) return;
  const running = identifyProcess(left.pid);
  if (running === undefined) return; // PostgreSQL itself replaces the file of a dead server.
  // The working directory of a server follows a renamed folder; its command line does not.
  const command = commandLine(left.pid);
  const onCluster = command.includes(`-D ${cluster} `) || workingFolder(left.pid) === cluster;
  if (onCluster && command.includes("postgres")) {
    log(`stopping the server that an earlier start left behind (process ${left.pid})`);
    await endPostgres(running);
    return;
  }
  // PostgreSQL refuses to start while the process ID is in use, but accepts the ID of its parent process. The file
  // must stay, because it names the shared memory by which PostgreSQL finds orphans of the dead server.
  const file = path.join(cluster, "postmaster.pid");
  const lines = await readFile(file, "utf8");
  await writeFile(file, lines.replace(/^-?\d+/, String(process.pid)));
}

/** Reads `postmaster.pid`; undefined when it is missing or incomplete. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  let text: string;
  try {
    text = await readFile(path.join(cluster, "postmaster.pid"), "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split("\n");
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid === 0) return undefined;
  return { pid, ready: lines[7]?.trim() === "ready" };
}

async function initialise(
  place: Place,
  password: string,
  options: { log: (line: string) => void; sync: boolean },
): Promise<void> {
  options.log("creating a new database cluster");
  const unfinished = await mkdtemp(path.join(place.folder, unfinishedPrefix));
  const passwordFile = path.join(unfinished, "password");
  const cluster = path.join(unfinished, "cluster");
  await writeFile(passwordFile, password, { mode: 0o600 });
  await changeOwner(place.runAs, passwordFile);
  await changeOwner(place.runAs, unfinished);
  const flags = [
    `--pgdata=${cluster}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // Built into PostgreSQL, so that sorting and upper case are the same on every machine.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    ...(options.sync ? [] : ["--no-sync"]),
  ];
  try {
    await run(path.join(place.bin, "initdb"), flags, {
      cwd: unfinished,
      env: postgresEnvironment,
      ...place.runAs,
    });
    await rename(cluster, clusterFolder(place));
  } catch (error) {
    const output = (error as { stderr?: string }).stderr?.trim() ?? "";
    throw new Error(`The database cluster in ${place.folder} cannot be created. ${output}`, {
      cause: error,
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function checkVersion(cluster: string, place: Place): Promise<void> {
  const version = await readFile(path.join(cluster, "PG_VERSION"), "utf8").catch(() => "unknown");
  if (version.trim() === place.majorVersion) return;
  throw new Error(
    `The database in ${cluster} was made by PostgreSQL ${version.trim()}, the embedded server is ` +
      `PostgreSQL ${place.majorVersion}. Dump it with the old version and load it into a new data ` +
      "folder, or choose another data folder.",
  );
}

async function readPassword(file: string, cluster: string): Promise<string> {
  try {
    const password = (await readFile(file, "utf8")).trim();
    await chmod(file, 0o600);
    return password;
  } catch (error) {
    throw new Error(`The password ${file} of the database in ${cluster} cannot be read.`, {
      cause: error,
    });
  }
}
