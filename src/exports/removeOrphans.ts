import type pg from "pg";
import type { FileStore } from "../gateways/files.ts";

// A file is in the ledger before it is in the store; the hour is for clocks that differ.
const youngMs = 60 * 60 * 1000;
const keysAtOnce = 500;

interface RemoveOrphansOptions {
  files: FileStore;
  prefix: string;
  inTenant: <T>(work: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  signal: AbortSignal;
}

/**
 * Removes files below a prefix that the ledger does not know, and returns how many there were: none, unless the database is older
 * than the store, as after a restore.
 */
export async function removeOrphans(options: RemoveOrphansOptions): Promise<number> {
  const { files, prefix, inTenant, signal } = options;
  let orphans = 0;
  const removeUnknown = async (keys: string[]) => {
    const unknown = await inTenant((client) =>
      client.query<{ key: string }>("select unknown_files($1) as key", [keys]),
    );
    for (const { key } of unknown.rows) await files.remove(key);
    orphans += unknown.rows.length;
  };
  let keys: string[] = [];
  for await (const { key, modifiedAt } of files.list(prefix)) {
    signal.throwIfAborted();
    if (Date.now() - modifiedAt.getTime() < youngMs) continue;
    if (keys.push(key) < keysAtOnce) continue;
    await removeUnknown(keys);
    keys = [];
  }
  await removeUnknown(keys);
  return orphans;
}
