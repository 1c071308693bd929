import { chmod, mkdtemp, readFile, readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { availableMemory, kill, pid } from "node:process";

const shared = "/dev/shm";
const prefix = "back-office-tests-";
const gigabyte = 1024 ** 3;

/**
 * Creates a folder in memory for the temporary files of a run, because copying databases takes ten times as long
 * on a disk.
 * Null on a machine with too little memory.
 */
export async function makeMemoryFolder(): Promise<string | null> {
  if (!(await isUsable())) return null;
  await removeLeftovers();
  const folder = await mkdtemp(join(shared, `${prefix}${pid}-`));
  // World-writable, because PostgreSQL runs as another user when the tests run as root.
  await chmod(folder, 0o1777);
  return folder;
}

/** Whether there is enough space and memory, and whether the mount allows execution. */
async function isUsable(): Promise<boolean> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  const mount = mounts.split("\n").find((line) => line.split(" ")[1] === shared);
  const [, , type, options = ""] = mount?.split(" ") ?? [];
  if (type !== "tmpfs" || /\b(noexec|ro)\b/.test(options)) return false;
  const { bavail, bsize } = await statfs(shared);
  return bavail * bsize > 4 * gigabyte && availableMemory() > 8 * gigabyte;
}

/** Removes the folders of killed runs. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(shared)) {
    const owner = Number(
      name.startsWith(prefix) ? name.slice(prefix.length).split("-")[0] : Number.NaN,
    );
    if (!Number.isNaN(owner) && !isRunning(owner))
      await rm(join(shared, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isRunning(owner: number): boolean {
  try {
    kill(owner, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
