import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Place } from "./postgresPlace.ts";
import { giveTo, postgresEnvironment } from "./postgresPlace.ts";
import { commandLine, endPostgres, identifyProcess, workingFolder } from "./processIds.ts";

const run = promisify(execFile);
const unfinishedPrefix = "unfinished-";

/** What the file `postmaster.pid` of a cluster says. */
export interface PidFile {
  pid: number;
  ready: boolean;
}

/** The folder of PostgreSQL's own files. */
export function clusterFolder(place: Pick<Place, "folder">): string {
  return path.join(place.folder, "cluster");
}

/**
 * Makes sure that a complete cluster exists and returns the superuser's password.
 *
 * A new cluster is made in a folder beside and renamed when it is complete, so one that was
 * interrupted midway is never taken for a database; its remains are removed.
 *
 * Throws when the cluster belongs to another major version of PostgreSQL or lost its password.
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
 * Ends a server that an earlier start left behind on this cluster, and makes the file it left
 * harmless when its process number now belongs to some other program.
 *
 * Such a server is not taken over but ended: it may be shutting down already, and its port and
 * settings would be those of the earlier start. PostgreSQL is back within a fraction of a second.
 */
export async function endLeftover(place: Place, log: (line: string) => void): Promise<void> {
  const cluster = clusterFolder(place);
  const left = await readPidFile(cluster);
  if (left === undefined) return;
  const running = identifyProcess(left.pid);
  if (running === undefined) return; // PostgreSQL itself replaces the file of a dead server.
  // A server works in its folder, also after that was renamed; its command line stays as it was.
  const command = commandLine(left.pid);
  const onCluster = command.includes(`-D ${cluster} `) || workingFolder(left.pid) === cluster;
  if (onCluster && command.includes("postgres")) {
    log(`stopping the server that an earlier start left behind (process ${left.pid})`);
    await endPostgres(running);
    return;
  }
  // PostgreSQL would refuse to start because the number is in use. The file is not removed,
  // because it names the shared memory by which PostgreSQL finds orphans of the dead server.
  // PostgreSQL accepts the number of its own parent process.
  const file = path.join(cluster, "postmaster.pid");
  const lines = await readFile(file, "utf8");
  await writeFile(file, lines.replace(/^-?\d+/, String(process.pid)));
}

/** Reads `postmaster.pid`; undefined when there is none or it is not written completely. */
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
  await giveTo(place.runAs, passwordFile);
  await giveTo(place.runAs, unfinished);
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
    const said = (error as { stderr?: string }).stderr?.trim() ?? "";
    throw new Error(`The database cluster in ${place.folder} cannot be created. ${said}`, {
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
