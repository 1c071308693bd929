import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { availableMemory } from "node:process";

const shared = "/dev/shm";
const tmpfs = 0x01021994;
const gigabyte = 1024 ** 3;

/**
 * The folder for the databases of tests: one in memory where there is enough of it, else that for temporary files. A copy of the
 * migrated database consists of a thousand files, which takes ten times as long on a disk.
 */
export async function databaseFolder(): Promise<string> {
  const place = await statfs(shared).catch(() => null);
  const hasSpace = place?.type === tmpfs && place.bavail * place.bsize > 4 * gigabyte;
  return hasSpace && availableMemory() > 8 * gigabyte ? shared : tmpdir();
}
