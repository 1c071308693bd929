import { watch } from "node:fs";
import path from "node:path";

const quietMs = 200;

/**
 * Calls `onChange` with the changed paths (relative to `root`) when files below the folders that match
 * `pattern` (programs and SQL) were changed and nothing more has changed for 200 ms. Calls do not overlap: what changes
 * meanwhile is the next call's. Returns a function that ends it. A path that cannot be watched is logged.
 */
export function watchFolders(
  root: string,
  folders: string[],
  onChange: (paths: string[]) => Promise<void>,
  log: (line: string) => void,
  pattern = /\.(ts|sql)$/,
): () => void {
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let running = false;

  const run = async () => {
    if (running || changed.size === 0) return;
    const paths = [...changed];
    changed.clear();
    running = true;
    try {
      await onChange(paths);
    } finally {
      running = false;
      plan();
    }
  };
  const plan = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void run(), quietMs);
  };
  const watchers = folders.map((folder) => {
    const watcher = watch(path.resolve(root, folder), { recursive: true }, (_event, file) => {
      // The dump is written by a command of ours, not by hand.
      if (file === null || !pattern.test(file) || file === "schema.sql") return;
      changed.add(path.join(folder, file));
      plan();
    });
    // A file that this user may not read, or that was removed meanwhile. The others stay watched.
    watcher.on("error", (error) => log(`cannot watch a file: ${error.message}`));
    return watcher;
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
