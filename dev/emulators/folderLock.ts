import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Takes a folder for this process alone, until the returned function is called or the process ends.
 *
 * The lock is one that the operating system holds (taken through SQLite, the one part of Node that
 * locks files): it vanishes with the process however that dies, so there is never a stale one, and
 * a process number that was given out again cannot confuse it. Nothing else may open the file
 * `lock`, because closing it would drop the lock.
 *
 * Throws when another process holds the folder; the message names both.
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
