import { watch } from "node:fs";
import path from "node:path";

const quietMs = 200;

/**
 * Calls `onChange` with the changed paths, relative to `root`, 200 ms after the last change. Only files that match
 * `pattern` count. Calls do not overlap: changes during a call go to the next one.
 * @returns a function that stops watching
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
      // `npm run generate` writes the dump.
      if (file === null || !pattern.test(file) || file === "schema.sql") return;
      changed.add(path.join(folder, file));
      plan();
    });
    // The file is unreadable or was removed. Other files stay watched.
    watcher.on("error", (error) => log(`cannot watch a file: ${error.message}`));
    return watcher;
  });
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}
