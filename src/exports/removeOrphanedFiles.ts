import type pg from "pg";
import { removeEach } from "./removeEach.ts";
import type { FileStore } from "../gateways/files.ts";

// Files are recorded before they are stored; the hour allows for clock differences.
const minAgeMs = 60 * 60 * 1000;
const batchSize = 500;

interface RemoveOrphanedFilesOptions {
  files: FileStore;
  prefix: string;
  inTenant: <T>(work: (client: pg.ClientBase) => Promise<T>) => Promise<T>;
  signal: AbortSignal;
}

/**
 * Deletes files below a prefix that the database does not know, and returns their number. There are none unless the
 * database is older than the object store, as after a restore.
 * @throws Error at the end when some could not be deleted, as by {@link removeEach}
 */
export async function removeOrphanedFiles(options: RemoveOrphanedFilesOptions): Promise<number> {
  const { files, signal } = options;
  return removeEach(orphanedFiles(options), { remove: (key) => files.remove(key), signal });
}

async function* orphanedFiles({
  files,
  prefix,
  inTenant,
  signal,
}: RemoveOrphanedFilesOptions): AsyncGenerator<string> {
  const unknown = async (keys: string[]) => {
    const { rows } = await inTenant((client) =>
      client.query<{ key: string }>("select unknown_files($1) as key", [keys]),
    );
    return rows.map(({ key }) => key);
  };
  let keys: string[] = [];
  for await (const { key, modifiedAt } of files.list(prefix)) {
    signal.throwIfAborted();
    if (Date.now() - modifiedAt.getTime() < minAgeMs) continue;
    if (keys.push(key) < batchSize) continue;
    yield* await unknown(keys);
    keys = [];
  }
  yield* await unknown(keys);
}
