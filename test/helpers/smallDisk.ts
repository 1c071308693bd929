import { execFileSync, spawnSync } from "node:child_process";
import { chmod, mkdtemp, open, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programPath } from "./environment.ts";

/** A disk of a few megabytes that a test can fill. */
export interface SmallDisk {
  folder: string;
  /** Fills the disk to the last byte. */
  fill(): Promise<void>;
  /** Frees the space again. */
  empty(): Promise<void>;
  remove(): Promise<void>;
}

const env = { PATH: programPath };

/** Whether this process may mount a disk, which requires root outside most containers. */
export function canMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  // In a separate mount namespace, so that the probe leaves nothing behind.
  const probe = ["-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"];
  return spawnSync("unshare", probe, { env }).status === 0;
}

/** Mounts a tmpfs of this size. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), "small-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { env });
  await chmod(folder, 0o755);
  const filler = join(folder, "filler");
  return {
    folder,
    async fill() {
      const file = await open(filler, "w");
      try {
        for (const size of [1024 * 1024, 4096, 1]) {
          const piece = Buffer.alloc(size, 1);
          while (await written(file.write(piece)));
        }
      } finally {
        await file.close();
      }
    },
    empty: () => rm(filler, { force: true }),
    async remove() {
      execFileSync("umount", ["--lazy", folder], { env });
      await rmdir(folder);
    },
  };
}

/** Whether the whole buffer was written. */
async function written(writing: Promise<{ bytesWritten: number; buffer: Buffer }>) {
  try {
    const { bytesWritten, buffer } = await writing;
    return bytesWritten === buffer.length;
  } catch (error) {
    // `instanceof Error` fails for Node's errors, because Jest runs tests in another realm.
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}
