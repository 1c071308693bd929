import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Locks a folder for this process until the returned function is called or the process ends.
 *
 * The operating system holds the lock, through SQLite, the only part of Node that locks files. It releases the lock
 * however the process ends, so that a lock is never stale and a reused process ID causes no confusion. Nothing else
 * may open the file `lock`: closing it would release the lock.
 *
 * @throws when another process holds the lock; the message names the folder and the process
 */
export function lockFolder(folder: string): () => void {
  const ownerFile = path.join(folder, "owner");
  const lock = openLock(folder);
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== sqliteBusy) throw error;
    throw new Error(
      `The database in ${folder} is already in use by another start of this program` +
        `${describeOwner(ownerFile)}. Stop that one first, or choose another data folder.`,
      { cause: error },
    );
  }
  writeFileSync(ownerFile, `${process.pid}\n`);
  return () => lock.close();
}

const sqliteBusy = 5;

function openLock(folder: string): DatabaseSync {
  try {
    return new DatabaseSync(path.join(folder, "lock"), { timeout: 0 });
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to.`, { cause: error });
  }
}

function describeOwner(ownerFile: string): string {
  try {
    return ` (process ${readFileSync(ownerFile, "utf8").trim()})`;
  } catch {
    return "";
  }
}
